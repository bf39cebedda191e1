/**
 * Recognises which OTLP signal (spans, log records or metrics) a body contains. Without this check, an exporter that
 * sends one signal to another signal's address would get a success response for data that is never read.
 */
import protobuf from 'protobufjs'
import { Refusal } from '../../errors.ts'
import type { JsonObject } from './json-values.ts'
import { inCamelCase } from './snake-case.ts'

export type Signal = 'traces' | 'logs' | 'metrics'

/** The outermost JSON field of each signal's export. */
const FIELDS = { traces: 'resourceSpans', logs: 'resourceLogs', metrics: 'resourceMetrics' } as const
const SNAKE_FIELDS = { traces: 'resource_spans', logs: 'resource_logs', metrics: 'resource_metrics' } as const
const SIGNALS: readonly Signal[] = ['traces', 'logs', 'metrics']
const addressOf = (signal: Signal): string => `/api/v1/otlp/v1/${signal}`

/**
 * Returns the body of a JSON export with keys in lowerCamelCase. Throws `invalid_request` if the body contains another
 * signal or none. An export without items is valid, and has an empty list.
 */
export function signalBody(body: JsonObject, own: Signal): JsonObject {
  const other = SIGNALS.find(signal => signal !== own && (FIELDS[signal] in body || SNAKE_FIELDS[signal] in body))
  if (other !== undefined) throw elsewhere(FIELDS[other], own, other)
  if (FIELDS[own] in body) return body
  if (SNAKE_FIELDS[own] in body) return inCamelCase(body) as JsonObject
  const known = SIGNALS.map(signal => `${FIELDS[signal]} to ${addressOf(signal)}`).join(', ')
  throw new Refusal('invalid_request', `${FIELDS[own]}: is required at this endpoint; send ${known}`)
}

/** Throws `invalid_request` if the first item of a protobuf export belongs to another signal. */
export function checkProtobufSignal(bytes: Uint8Array, own: Signal): void {
  const found = signalOf(bytes)
  if (found !== undefined && found !== own) throw elsewhere('body', own, found)
}

const elsewhere = (field: string, own: Signal, found: Signal): Refusal =>
  new Refusal(
    'invalid_request',
    `${field}: contains ${found}, but this endpoint accepts ${own}; use ${addressOf(found)}`
  )

/** Protobuf wire types. */
const FIXED64 = 1
const LENGTH_DELIMITED = 2
/** Numbers of the fields that distinguish the signals. A span and a metric both begin with length-delimited fields. */
const LOG_TIMES = [1, 11]
const SPAN_TIMES = [7, 8]
const METRIC_DATA = [5, 7, 9, 10, 11]
/** Lengths of a span's first two fields, its ids. */
const TRACE_ID_BYTES = 16
const SPAN_ID_BYTES = 8

/** Returns the signal of the first item; undefined if the body is empty or its item fits several signals. */
function signalOf(bytes: Uint8Array): Signal | undefined {
  try {
    const item = firstItem(bytes)
    return item && signalOfItem(item)
  } catch {
    // The decoder reports invalid bytes.
    return undefined
  }
}

/** Field numbers on the path from a request to an item. The numbers are the same for all signals. */
const TO_ITEM = [1, 2, 2]

/** Returns the bytes of the first item at `path`, a list of field numbers. A resource or scope may have no items. */
function firstItem(bytes: Uint8Array, path: readonly number[] = TO_ITEM): Uint8Array | undefined {
  const [field, ...rest] = path
  if (field === undefined) return bytes
  const reader = protobuf.Reader.create(bytes)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag >>> 3 !== field || (tag & 7) !== LENGTH_DELIMITED) reader.skipType(tag & 7)
    else {
      const found = firstItem(reader.bytes(), rest)
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** Stops at the first decisive field, because every protobuf export is checked. */
function signalOfItem(item: Uint8Array): Signal | undefined {
  /** Lengths in bytes of the length-delimited fields. */
  const lengths = new Map<number, number>()
  const reader = protobuf.Reader.create(item)
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    const field = tag >>> 3
    const type = tag & 7
    if (type === FIXED64 && LOG_TIMES.includes(field)) return 'logs'
    if (type === FIXED64 && SPAN_TIMES.includes(field)) return 'traces'
    if (type === LENGTH_DELIMITED) lengths.set(field, reader.bytes().length)
    else reader.skipType(type)
  }
  // Protobuf omits times that are 0. A span is then recognised by the lengths of its ids.
  if (lengths.get(1) === TRACE_ID_BYTES && lengths.get(2) === SPAN_ID_BYTES) return 'traces'
  return lengths.has(1) && METRIC_DATA.some(field => lengths.has(field)) ? 'metrics' : undefined
}
