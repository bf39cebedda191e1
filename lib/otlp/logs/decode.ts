/** Decodes an export of log records in either OTLP encoding. */
import protobuf from 'protobufjs'
import { readBody } from '../../trace/body.ts'
import type { Json } from '../../trace/json/exact-json.ts'
import {
  attributesOf,
  countOf,
  type JsonObject,
  listOf,
  microsOfField as microsIn,
  objectOf,
  readJsonValue,
  startParts,
  textOfField
} from '../wire/json-values.ts'
import { Parts } from '../wire/parts.ts'
import {
  type AnyValue,
  countParts,
  decoding,
  hex,
  type KeyValue,
  readAttributes,
  readProtobufValue,
  VALUES
} from '../wire/protobuf-values.ts'
import type { Attributes, OtlpEncoding } from '../wire/request.ts'
import { checkProtobufSignal, signalBody } from '../wire/signals.ts'
import { type Int64, microsOfInt64 } from '../wire/time.ts'

/** The process that sent a record, and the library or logger within that process. */
export interface LogOrigin {
  readonly resource: Attributes
  readonly scopeName: string
}

/** Ids are lower-case hexadecimal strings, empty if the record belongs to no span. */
export interface LogRecord {
  readonly origin: LogOrigin
  readonly traceId: string
  readonly spanId: string
  /** Time of the event, or the observed time if no event time was sent, in microseconds since 1970. */
  readonly micros: number
  readonly eventName: string
  readonly body: Json
  readonly attributes: Attributes
  /** Whether the record's flags state that its span is not sampled and is therefore never sent. */
  readonly isUnsampled: boolean
}

/** The flag of a sampled span, as in W3C Trace Context. */
const SAMPLED = 1

/**
 * Returns the name of a record's event; empty if the record is not an event. The attribute takes precedence, because
 * Rust's log bridge fills `eventName` with a source code position.
 */
export function nameOfEvent({ eventName, attributes }: LogRecord): string {
  const name = attributes.get('event.name')
  return typeof name === 'string' && name !== '' ? name : eventName
}

/**
 * Decodes an export of logs. Throws `invalid_json`, `invalid_request` or `payload_too_large` if the body is not a valid
 * export.
 */
export function decodeLogs(bytes: Uint8Array, encoding: OtlpEncoding): LogRecord[] {
  return encoding === 'json' ? decodeJson(bytes) : decodeProtobuf(bytes)
}

function decodeJson(bytes: Uint8Array): LogRecord[] {
  const { exact } = readBody(bytes, 'invalid_request')
  startParts()
  const body = signalBody(objectOf(exact, 'body'), 'logs')
  const resources = listOf(body, 'resourceLogs', 'body', (item, path) => {
    const resource = attributesOf(objectOf(item.resource ?? {}, `${path}.resource`), `${path}.resource`)
    return listOf(item, 'scopeLogs', path, (group, path) => {
      const scope = objectOf(group.scope ?? {}, `${path}.scope`)
      const origin = { resource, scopeName: textOfField(scope, 'name', `${path}.scope`) }
      return listOf(group, 'logRecords', path, (record, path) => readJsonRecord(record, path, origin))
    })
  })
  return resources.flat(2)
}

const readJsonRecord = (record: JsonObject, path: string, origin: LogOrigin): LogRecord => ({
  origin,
  traceId: textOfField(record, 'traceId', path).toLowerCase(),
  spanId: textOfField(record, 'spanId', path).toLowerCase(),
  micros: microsIn(record, 'timeUnixNano', path) || microsIn(record, 'observedTimeUnixNano', path),
  eventName: textOfField(record, 'eventName', path),
  body: readJsonValue(record.body, `${path}.body`),
  attributes: attributesOf(record, path),
  isUnsampled: record.flags !== undefined && (countOf(record, 'flags', path) & SAMPLED) === 0
})

/** The fields of opentelemetry-proto's collector/logs/v1 and logs/v1 that spoor reads. */
const SCHEMA = `
syntax = "proto3";
message Request { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; }
message Scope { string name = 1; }
message LogRecord {
  fixed64 time_unix_nano = 1; AnyValue body = 5; repeated KeyValue attributes = 6; optional fixed32 flags = 8;
  bytes trace_id = 9; bytes span_id = 10; fixed64 observed_time_unix_nano = 11; string event_name = 12;
}
${VALUES}`
const Request = protobuf.parse(SCHEMA).root.lookupType('Request')
Request.root.resolveAll()

interface RecordMessage {
  readonly timeUnixNano: Int64
  readonly observedTimeUnixNano: Int64
  readonly body: AnyValue | null
  readonly attributes: readonly KeyValue[]
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly eventName: string
  /** The record's flags; null if the sender reports none. */
  readonly flags: number | null
}
interface ScopeMessage {
  readonly scope: { readonly name: string } | null
  readonly logRecords: readonly RecordMessage[]
}
interface RequestMessage {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] } | null
    readonly scopeLogs: readonly ScopeMessage[]
  }[]
}

function decodeProtobuf(bytes: Uint8Array): LogRecord[] {
  checkProtobufSignal(bytes, 'logs')
  return decoding('ExportLogsServiceRequest', () => {
    countParts(bytes, { from: 0, end: bytes.length }, Request, 0, new Parts())
    const { resourceLogs } = Request.decode(bytes) as unknown as RequestMessage
    return resourceLogs.flatMap(({ resource, scopeLogs }) => {
      const attributes = readAttributes(resource?.attributes ?? [])
      return scopeLogs.flatMap(({ scope, logRecords }) => {
        const origin = { resource: attributes, scopeName: scope?.name ?? '' }
        return logRecords.map(record => readRecord(record, origin))
      })
    })
  })
}

const readRecord = (record: RecordMessage, origin: LogOrigin): LogRecord => ({
  origin,
  traceId: hex(record.traceId),
  spanId: hex(record.spanId),
  micros: microsOfInt64(record.timeUnixNano) || microsOfInt64(record.observedTimeUnixNano),
  eventName: record.eventName,
  body: readProtobufValue(record.body),
  attributes: readAttributes(record.attributes),
  isUnsampled: typeof record.flags === 'number' && (record.flags & SAMPLED) === 0
})
