/**
 * Reads OTLP's JSON encoding, which differs from that of protobuf: ids are hexadecimal, numbers of 64 bits may be
 * numbers or decimal text, and names are always lowerCamelCase. Unknown fields are ignored, as the protocol demands.
 * If a value has another type than its field, the whole request is refused.
 */
import { Refusal } from '../../errors.ts'
import { LARGE_BODY_BYTES } from '../../schema/input.ts'
import { MAX_EXPORT_VALUES } from '../../schema/otlp.ts'
import { parseBody, readBody, readText } from '../../trace/body.ts'
import { hasMoreValues, stringifyExact } from '../../trace/json/exact-json.ts'
import {
  addParts,
  arrayOf,
  attributesOf,
  countOf,
  enumOf,
  type JsonObject,
  listOf,
  microsOf,
  objectOf,
  pathOf,
  startParts,
  textOf
} from './json-values.ts'
import { MOST_EVENTS, MOST_LINKS, unread } from './parts.ts'
import type { Origin, OtlpEvent, OtlpLink, OtlpSpan, SentSpans, SpanGroup, SpanHead } from './request.ts'

/** Reads an export request. Throws `invalid_json` or, naming the field, `invalid_request`. */
export function decodeJson(bytes: Uint8Array): SpanGroup[] {
  const text = readText(bytes)
  if (bytes.length > LARGE_BODY_BYTES && hasMoreValues(text, MAX_EXPORT_VALUES)) {
    throw new Refusal('payload_too_large', `body: must have at most ${MAX_EXPORT_VALUES} values in JSON`)
  }
  const { exact } = parseBody(text, 'invalid_request')
  startParts()
  return listOf(objectOf(exact, 'body'), 'resourceSpans', 'body', readResourceSpans).flat()
}

/** Puts spans that the `encode` of a group has made one behind the other. */
export function joinJsonSpans(spans: readonly Uint8Array[]): Uint8Array {
  const parts = spans.flatMap((span, i) => (i === 0 ? [span] : [COMMA, span]))
  return Buffer.concat([Buffer.from('{"spans":['), ...parts, Buffer.from(']}')])
}
const COMMA = Buffer.from(',')

/** Reads spans that joinJsonSpans has joined. */
export function decodeJsonSpans(bytes: Uint8Array): SentSpans {
  const { exact } = readBody(bytes, 'invalid_request')
  startParts()
  return new JsonSpans(objectOf(exact, 'body'), 'body')
}

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
    return { origin, spans, encode: place => spans.encode(place) }
  })
}

class JsonSpans implements SentSpans {
  readonly #sent: readonly unknown[]
  readonly #path: string

  constructor(group: JsonObject, path: string) {
    this.#path = pathOf(path, 'spans')
    this.#sent = arrayOf(group, 'spans', this.#path)
    addParts(this.#sent.length)
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

  encode(place: number): Uint8Array {
    this.read(place)
    return Buffer.from(stringifyExact(this.#sent[place]))
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

const SPAN_KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map(
  name => `SPAN_KIND_${name}`
)
const STATUS_CODES = ['STATUS_CODE_UNSET', 'STATUS_CODE_OK', 'STATUS_CODE_ERROR']
