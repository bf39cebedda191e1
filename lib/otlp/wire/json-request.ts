/**
 * Reads OTLP's JSON encoding, which differs from that of protobuf: ids are hexadecimal, numbers of 64 bits may be
 * numbers or decimal text, and names are always lowerCamelCase. Unknown fields are ignored, as the protocol demands.
 * If a value has another type than its field, the whole request is refused.
 */
import { LosslessNumber } from 'lossless-json'
import { Refusal } from '../../errors.ts'
import { readBody } from '../../trace/body.ts'
import { type Json, plainNumber, stringifyExact } from '../../trace/json/exact-json.ts'
import { setOwn } from '../../trace/metadata.ts'
import { MOST_EVENTS, MOST_LINKS, Parts, unread } from './parts.ts'
import type { Attributes, Origin, OtlpEvent, OtlpLink, OtlpSpan, SentSpans, SpanGroup, SpanHead } from './request.ts'
import { microsOfText } from './time.ts'

type JsonObject = Readonly<Record<string, unknown>>

/** Reads an export request. Throws `invalid_json` or, naming the field, `invalid_request`. */
export function decodeJson(bytes: Uint8Array): SpanGroup[] {
  const { exact } = readBody(bytes, 'invalid_request')
  parts = new Parts()
  return listOf(objectOf(exact, 'body'), 'resourceSpans', 'body', readResourceSpans).flat()
}

/** Reads spans that the `encode` of a group has made. */
export function decodeJsonSpans(bytes: Uint8Array): SentSpans {
  const { exact } = readBody(bytes, 'invalid_request')
  parts = new Parts()
  return new JsonSpans(objectOf(exact, 'body'), 'body')
}

/** The count of the request that is being read. A thread reads one request at a time. */
let parts = new Parts()

/**
 * The answer to an export. It is the empty object if nothing was refused and there is no message. `field` is the name
 * of the count, which is different for each signal.
 */
export function encodeJson(rejected: number, errorMessage: string, field = 'rejectedSpans'): string {
  if (rejected === 0 && errorMessage === '') return '{}'
  // Numbers of 64 bits are text in protobuf's JSON.
  return JSON.stringify({ partialSuccess: { [field]: String(rejected), errorMessage } })
}

function readResourceSpans(item: JsonObject, path: string): SpanGroup[] {
  const resource = attributesOf(objectOf(item.resource ?? {}, `${path}.resource`), `${path}.resource`)
  return listOf(item, 'scopeSpans', path, (group, groupPath) => {
    const scope = objectOf(group.scope ?? {}, `${groupPath}.scope`)
    const origin: Origin = {
      resource,
      resourceSchemaUrl: textOf(item, 'schemaUrl', path),
      scopeName: textOf(scope, 'name', `${groupPath}.scope`),
      scopeVersion: textOf(scope, 'version', `${groupPath}.scope`),
      scopeAttributes: attributesOf(scope, `${groupPath}.scope`),
      scopeSchemaUrl: textOf(group, 'schemaUrl', groupPath)
    }
    const spans = new JsonSpans(group, groupPath)
    return { origin, spans, encode: places => spans.encode(places) }
  })
}

class JsonSpans implements SentSpans {
  readonly #sent: readonly unknown[]
  readonly #path: string

  constructor(group: JsonObject, path: string) {
    this.#path = pathOf(path, 'spans')
    this.#sent = arrayOf(group, 'spans', this.#path)
    parts.add(this.#sent.length)
  }

  get length(): number {
    return this.#sent.length
  }

  head(place: number): SpanHead {
    return this.#at(place, readHead)
  }

  read(place: number): OtlpSpan {
    return this.#at(place, readSpan)
  }

  encode(places: readonly number[]): Uint8Array {
    for (const place of places) this.read(place)
    return Buffer.from(stringifyExact({ spans: places.map(place => this.#sent[place]) }))
  }

  #at<T>(place: number, read: (span: JsonObject, path: string) => T): T {
    const path = `${this.#path}[${place}]`
    return read(objectOf(this.#sent[place], path), path)
  }
}

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0)

function readHead(span: JsonObject, path: string): SpanHead {
  const events = arrayOf(span, 'events', `${path}.events`).slice(0, MOST_EVENTS)
  let lastEventMicros = 0
  for (const [i, event] of events.entries()) {
    const eventPath = `${path}.events[${i}]`
    lastEventMicros = Math.max(lastEventMicros, microsOf(objectOf(event, eventPath), 'timeUnixNano', eventPath))
  }
  return { ...readIdentity(span, path), lastEventMicros }
}

const readIdentity = (span: JsonObject, path: string) => ({
  traceId: textOf(span, 'traceId', path).toLowerCase(),
  spanId: textOf(span, 'spanId', path).toLowerCase(),
  parentSpanId: textOf(span, 'parentSpanId', path).toLowerCase(),
  name: textOf(span, 'name', path),
  startMicros: microsOf(span, 'startTimeUnixNano', path),
  endMicros: microsOf(span, 'endTimeUnixNano', path)
})

function readSpan(span: JsonObject, path: string): OtlpSpan {
  const status = objectOf(span.status ?? {}, `${path}.status`)
  return {
    ...readIdentity(span, path),
    traceState: textOf(span, 'traceState', path),
    flags: countOf(span, 'flags', path),
    kind: enumOf(span, 'kind', path, SPAN_KINDS),
    attributes: attributesOf(span, path),
    droppedAttributes: countOf(span, 'droppedAttributesCount', path),
    events: listOf(span, 'events', path, readEvent, MOST_EVENTS),
    droppedEvents: countOf(span, 'droppedEventsCount', path) + unread(lengthOf(span.events), MOST_EVENTS),
    links: listOf(span, 'links', path, readLink, MOST_LINKS),
    droppedLinks: countOf(span, 'droppedLinksCount', path) + unread(lengthOf(span.links), MOST_LINKS),
    statusCode: enumOf(status, 'code', `${path}.status`, STATUS_CODES),
    statusMessage: textOf(status, 'message', `${path}.status`)
  }
}

const readEvent = (event: JsonObject, path: string): OtlpEvent => ({
  name: textOf(event, 'name', path),
  micros: microsOf(event, 'timeUnixNano', path),
  attributes: attributesOf(event, path),
  droppedAttributes: countOf(event, 'droppedAttributesCount', path)
})

const readLink = (link: JsonObject, path: string): OtlpLink => ({
  traceId: textOf(link, 'traceId', path).toLowerCase(),
  spanId: textOf(link, 'spanId', path).toLowerCase(),
  traceState: textOf(link, 'traceState', path),
  attributes: attributesOf(link, path),
  droppedAttributes: countOf(link, 'droppedAttributesCount', path),
  flags: countOf(link, 'flags', path)
})

function attributesOf(object: JsonObject, path: string): Attributes {
  const attributes = new Map<string, Json>()
  const read = (item: JsonObject, itemPath: string) =>
    attributes.set(textOf(item, 'key', itemPath), readValue(item.value, `${itemPath}.value`))
  listOf(object, 'attributes', path, read)
  return attributes
}

/** The JSON value that an AnyValue stands for. Its numbers are integers and doubles, however they are written. */
function readValue(any: unknown, path: string): Json {
  if (any === undefined || any === null) return null
  const value = objectOf(any, path)
  if (typeof value.stringValue === 'string') return value.stringValue
  if (typeof value.boolValue === 'boolean') return value.boolValue
  if (value.intValue !== undefined) return integerOf(value.intValue, `${path}.intValue`)
  if (value.doubleValue !== undefined) return doubleOf(value.doubleValue)
  if (value.arrayValue !== undefined) {
    const array = objectOf(value.arrayValue ?? {}, `${path}.arrayValue`)
    return listOf(array, 'values', `${path}.arrayValue`, readValue)
  }
  if (value.kvlistValue !== undefined) {
    const object: Record<string, Json> = {}
    const list = objectOf(value.kvlistValue ?? {}, `${path}.kvlistValue`)
    listOf(list, 'values', `${path}.kvlistValue`, (item, itemPath) =>
      setOwn(object, textOf(item, 'key', itemPath), readValue(item.value, `${itemPath}.value`))
    )
    return object
  }
  return typeof value.bytesValue === 'string' ? value.bytesValue : null
}

function integerOf(value: unknown, path: string): Json {
  if (typeof value === 'number' || value instanceof LosslessNumber) return plainNumber(value)
  if (typeof value !== 'string' || !/^-?\d{1,20}$/.test(value)) return refuse(path, 'must be a whole number')
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : new LosslessNumber(BigInt(value).toString())
}

/** Reads a double. NaN and the infinities come as text, and stay text. */
function doubleOf(value: unknown): Json {
  if (typeof value !== 'string') return plainNumber(value)
  const number = Number(value)
  return value.trim() !== '' && Number.isFinite(number) ? number : value
}

const SPAN_KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map(
  name => `SPAN_KIND_${name}`
)
const STATUS_CODES = ['STATUS_CODE_UNSET', 'STATUS_CODE_OK', 'STATUS_CODE_ERROR']

/** Reads an enumeration, which is a number in OTLP. Some senders write its name, as in protobuf's JSON. */
function enumOf(object: JsonObject, field: string, path: string, names: readonly string[]): number {
  const value = object[field]
  const index = typeof value === 'string' ? names.indexOf(value) : -1
  return index >= 0 ? index : countOf(object, field, path)
}

function countOf(object: JsonObject, field: string, path: string): number {
  const value = plainNumber(object[field] ?? 0)
  return Number.isInteger(value) ? (value as number) : refuse(`${path}.${field}`, 'must be a whole number')
}

function microsOf(object: JsonObject, field: string, path: string): number {
  const value = plainNumber(object[field] ?? '0')
  const text = value instanceof LosslessNumber ? value.value : String(value)
  return /^\d{1,20}$/.test(text) ? microsOfText(text) : refuse(`${path}.${field}`, 'must be nanoseconds since 1970')
}

function textOf(object: JsonObject, field: string, path: string): string {
  const value = object[field] ?? ''
  return typeof value === 'string' ? value : refuse(`${path}.${field}`, 'must be a string')
}

/** Reads a list. At most `most` items of it are read. */
function listOf<T>(
  object: JsonObject,
  field: string,
  path: string,
  read: (item: JsonObject, path: string) => T,
  most?: number
): T[] {
  const listPath = pathOf(path, field)
  const list = arrayOf(object, field, listPath)
  parts.add(list.length)
  return list.slice(0, most).map((item, i) => read(objectOf(item, `${listPath}[${i}]`), `${listPath}[${i}]`))
}

const pathOf = (path: string, field: string): string => (path === 'body' ? field : `${path}.${field}`)

function arrayOf(object: JsonObject, field: string, path: string): readonly unknown[] {
  const list = object[field] ?? []
  return Array.isArray(list) ? list : refuse(path, 'must be an array')
}

function objectOf(value: unknown, path: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  return refuse(path, 'must be an object')
}

function refuse(path: string, rule: string): never {
  throw new Refusal('invalid_request', `${path}: ${rule}`)
}
