/**
 * Reads OTLP's JSON encoding, which differs from protobuf's JSON mapping: ids are hexadecimal, and 64-bit numbers may
 * be numbers or decimal strings. OTLP requires names in lowerCamelCase. Names in snake_case are accepted too, because
 * protobuf libraries can write JSON with such names. Unknown fields are ignored, as the protocol requires. A value with
 * the wrong type causes the whole request to be rejected.
 */
import { Refusal } from '../../errors.ts'
import { MAX_EXPORT_VALUES } from '../../schema/otlp.ts'
import { readBody, readPart } from '../../trace/body.ts'
import { ByteRanges, divideJson, LIST_DEPTH } from './json-division.ts'
import {
  addParts,
  arrayOf,
  attributesOf,
  countOf,
  enumOf,
  fieldPath,
  type JsonObject,
  listOf,
  microsOfField,
  objectOf,
  startParts,
  textOfField
} from './json-values.ts'
import { MOST_EVENTS, MOST_LINKS, unread } from './parts.ts'
import type {
  ByteRange,
  DivisibleSpans,
  Origin,
  OtlpEvent,
  OtlpLink,
  OtlpSpan,
  SentSpanHead,
  SentSpans,
  SpanGroup
} from './request.ts'
import { signalBody } from './signals.ts'
import { inCamelCase } from './snake-case.ts'

/** Reads an export request. Throws `invalid_json`, or `invalid_request` with the field's path. */
export function decodeJson(bytes: Uint8Array): SpanGroup[] {
  const { exact } = readBody(bytes, 'invalid_request')
  startParts()
  return readGroups(exact, (group, path) => {
    const sent = sentSpans(group, path)
    return new JsonSpans(fieldPath(path, 'spans'), sent.length, index => sent[index])
  })
}

/**
 * Reads a large export request. Its spans are parsed on demand, so errors in a span appear only when that span is read.
 * Throws `payload_too_large` if the request has too many values.
 */
export function decodeLargeJson(bytes: Uint8Array): SpanGroup<DivisibleSpans>[] {
  const { frame, lists } = divideJson(bytes, MAX_EXPORT_VALUES)
  const { exact } = readBody(frame, 'invalid_request')
  startParts()
  const counted = new Set<number>()
  const groups = readGroups(exact, (group, path) => {
    const [index] = sentSpans(group, path)
    if (index !== undefined && typeof index !== 'number') {
      throw new Refusal('payload_too_large', 'body: a large export must use lowerCamelCase field names')
    }
    if (index !== undefined) counted.add(index)
    const ranges = index === undefined ? new ByteRanges() : (lists[index] as ByteRanges)
    return new SlicedJsonSpans(bytes, ranges, fieldPath(path, 'spans'))
  })
  // If a key is repeated, the last list is used. The other lists must still be valid JSON.
  for (const [index, ranges] of lists.entries()) if (!counted.has(index)) checkJson(bytes, ranges)
  return groups
}

function checkJson(bytes: Uint8Array, ranges: ByteRanges): void {
  for (let index = 0; index < ranges.length; index++) {
    const { from, end } = ranges.at(index)
    readPart(bytes.subarray(from, end), 'body', LIST_DEPTH)
  }
}

/** Reads spans by byte range. The caller must have validated every span by reading it once. */
export function readJsonSpans(bytes: Uint8Array, ranges: ByteRanges): SentSpans {
  startParts()
  return new SlicedJsonSpans(bytes, ranges, 'spans')
}

/**
 * Encodes the response to an export. Returns an empty object if nothing was rejected and the error message is empty.
 * `field` is the name of the rejected count, which differs by signal.
 */
export function encodeJson(rejected: number, errorMessage: string, field = 'rejectedSpans'): string {
  if (rejected === 0 && errorMessage === '') return '{}'
  // 64-bit numbers are strings in protobuf's JSON mapping.
  return JSON.stringify({ partialSuccess: { [field]: String(rejected), errorMessage } })
}

const sentSpans = (group: JsonObject, path: string) => arrayOf(group, 'spans', fieldPath(path, 'spans'))

/** Returns the object with names in lowerCamelCase. Only an object with names in snake_case has the name `snake`. */
const named = (object: JsonObject, snake: string): JsonObject =>
  snake in object ? (inCamelCase(object) as JsonObject) : object

type ReadSpans<S> = (group: JsonObject, path: string) => S

const readGroups = <S extends SentSpans>(body: unknown, readSpans: ReadSpans<S>): SpanGroup<S>[] =>
  listOf(named(signalBody(objectOf(body, 'body'), 'traces'), 'resource_spans'), 'resourceSpans', 'body', (item, path) =>
    readResourceSpans(item, path, readSpans)
  ).flat()

function readResourceSpans<S extends SentSpans>(
  sent: JsonObject,
  path: string,
  readSpans: ReadSpans<S>
): SpanGroup<S>[] {
  const item = named(sent, 'scope_spans')
  const resource = attributesOf(objectOf(item.resource ?? {}, `${path}.resource`), `${path}.resource`)
  return listOf(item, 'scopeSpans', path, (group, groupPath) => {
    const scope = objectOf(group.scope ?? {}, `${groupPath}.scope`)
    const origin: Origin = {
      resource,
      resourceSchemaUrl: textOfField(item, 'schemaUrl', path),
      scopeName: textOfField(scope, 'name', `${groupPath}.scope`),
      scopeVersion: textOfField(scope, 'version', `${groupPath}.scope`),
      scopeAttributes: attributesOf(scope, `${groupPath}.scope`),
      scopeSchemaUrl: textOfField(group, 'schemaUrl', groupPath)
    }
    return { origin, spans: readSpans(group, groupPath) }
  })
}

/** Spans in JSON. `path` locates their list in error messages. `valueAt` returns a parsed span. */
class JsonSpans implements SentSpans {
  readonly #path: string
  readonly length: number
  readonly #valueAt: (index: number, path: string) => unknown

  constructor(path: string, length: number, valueAt: (index: number, path: string) => unknown) {
    this.#path = path
    this.length = length
    this.#valueAt = valueAt
    addParts(length)
  }

  head(index: number): SentSpanHead {
    return this.#at(index, readHead)
  }

  read(index: number): OtlpSpan {
    return this.#at(index, readSpan)
  }

  #at<T>(index: number, read: (span: JsonObject, path: string) => T): T {
    const path = `${this.#path}[${index}]`
    return read(named(objectOf(this.#valueAt(index, path), path), 'trace_id'), path)
  }
}

/** Spans that are parsed when read. */
class SlicedJsonSpans extends JsonSpans implements DivisibleSpans {
  readonly #ranges: ByteRanges

  constructor(bytes: Uint8Array, ranges: ByteRanges, path: string) {
    // Caches the most recently parsed span, because a span's head is often read right before the whole span.
    let last = -1
    let value: unknown
    super(path, ranges.length, (index, path) => {
      if (index === last) return value
      const { from, end } = ranges.at(index)
      value = readPart(bytes.subarray(from, end), path, LIST_DEPTH)
      last = index
      return value
    })
    this.#ranges = ranges
  }

  rangeOf(index: number): ByteRange {
    return this.#ranges.at(index)
  }
}

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0)

function readHead(span: JsonObject, path: string): SentSpanHead {
  const events = arrayOf(span, 'events', `${path}.events`).slice(0, MOST_EVENTS)
  let lastEventMicros = 0
  for (const [i, event] of events.entries()) {
    const eventPath = `${path}.events[${i}]`
    lastEventMicros = Math.max(lastEventMicros, microsOfField(objectOf(event, eventPath), 'timeUnixNano', eventPath))
  }
  return { ...readIdentity(span, path), lastEventMicros }
}

const readIdentity = (span: JsonObject, path: string) => ({
  traceId: textOfField(span, 'traceId', path).toLowerCase(),
  spanId: textOfField(span, 'spanId', path).toLowerCase(),
  parentSpanId: textOfField(span, 'parentSpanId', path).toLowerCase(),
  name: textOfField(span, 'name', path),
  startMicros: microsOfField(span, 'startTimeUnixNano', path),
  endMicros: microsOfField(span, 'endTimeUnixNano', path)
})

function readSpan(span: JsonObject, path: string): OtlpSpan {
  const status = objectOf(span.status ?? {}, `${path}.status`)
  return {
    ...readIdentity(span, path),
    traceState: textOfField(span, 'traceState', path),
    flags: countOf(span, 'flags', path),
    kind: enumOf(span, 'kind', path, SPAN_KINDS),
    attributes: attributesOf(span, path),
    droppedAttributes: countOf(span, 'droppedAttributesCount', path),
    events: listOf(span, 'events', path, readEvent, MOST_EVENTS),
    droppedEvents: countOf(span, 'droppedEventsCount', path) + unread(lengthOf(span.events), MOST_EVENTS),
    links: listOf(span, 'links', path, readLink, MOST_LINKS),
    droppedLinks: countOf(span, 'droppedLinksCount', path) + unread(lengthOf(span.links), MOST_LINKS),
    statusCode: enumOf(status, 'code', `${path}.status`, STATUS_CODES),
    statusMessage: textOfField(status, 'message', `${path}.status`)
  }
}

const readEvent = (event: JsonObject, path: string): OtlpEvent => ({
  name: textOfField(event, 'name', path),
  micros: microsOfField(event, 'timeUnixNano', path),
  attributes: attributesOf(event, path),
  droppedAttributes: countOf(event, 'droppedAttributesCount', path)
})

const readLink = (link: JsonObject, path: string): OtlpLink => ({
  traceId: textOfField(link, 'traceId', path).toLowerCase(),
  spanId: textOfField(link, 'spanId', path).toLowerCase(),
  traceState: textOfField(link, 'traceState', path),
  attributes: attributesOf(link, path),
  droppedAttributes: countOf(link, 'droppedAttributesCount', path),
  flags: countOf(link, 'flags', path)
})

const SPAN_KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map(
  name => `SPAN_KIND_${name}`
)
const STATUS_CODES = ['STATUS_CODE_UNSET', 'STATUS_CODE_OK', 'STATUS_CODE_ERROR']
