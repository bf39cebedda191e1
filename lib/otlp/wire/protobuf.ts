/**
 * Reads OTLP's protobuf encoding. Field numbers come from opentelemetry-proto's trace/v1 and collector/trace/v1, which
 * are stable. Fields from later versions are ignored.
 */
import protobuf from 'protobufjs'
import { MOST_EVENTS, MOST_LINKS, Parts, unread } from './parts.ts'
import { PlainSpans } from './plain-spans.ts'
import { countParts, decoding, findInner, hex, type KeyValue, readAttributes, VALUES } from './protobuf-values.ts'
import type {
  ByteRange,
  DivisibleSpans,
  Origin,
  OtlpEvent,
  OtlpLink,
  OtlpSpan,
  SentSpanHead,
  SentSpans,
  SpanGroup,
  SpanIdentity
} from './request.ts'
import { checkProtobufSignal } from './signals.ts'
import { type Int64, microsOfInt64 } from './time.ts'

/** The schema of an export request. Tests also use it to encode requests. */
export const PROTOBUF_SCHEMA = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message Response { PartialSuccess partial_success = 1; }
message PartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
${VALUES}
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10;
  repeated Event events = 11; uint32 dropped_events_count = 12;
  repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15; fixed32 flags = 16;
  message Event {
    fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4;
  }
  message Link {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4;
    uint32 dropped_attributes_count = 5; fixed32 flags = 6;
  }
}
message Status { string message = 2; int32 code = 3; }
`

/** Messages as protobufjs decodes them. Fields with the same form in OtlpSpan have the same names. */
type IdsMessage = Readonly<Record<'traceId' | 'spanId', Uint8Array>>
interface AttributesMessage {
  readonly attributes: readonly KeyValue[]
  readonly droppedAttributesCount: number
}
interface IdentityMessage extends IdsMessage, Pick<OtlpSpan, 'name'> {
  readonly parentSpanId: Uint8Array
  readonly startTimeUnixNano: Int64
  readonly endTimeUnixNano: Int64
}
interface SpanHeadMessage extends IdentityMessage {
  readonly events: readonly { readonly timeUnixNano: Int64 }[]
}
interface SpanMessage extends IdentityMessage, AttributesMessage, Pick<OtlpSpan, 'traceState' | 'flags' | 'kind'> {
  readonly events: readonly EventMessage[]
  readonly droppedEventsCount: number
  readonly links: readonly LinkMessage[]
  readonly droppedLinksCount: number
  readonly status: { readonly code: number; readonly message: string } | null
}
interface EventMessage extends AttributesMessage, Pick<OtlpEvent, 'name'> {
  readonly timeUnixNano: Int64
}
type LinkMessage = IdsMessage & AttributesMessage & Pick<OtlpLink, 'traceState' | 'flags'>
interface ScopeSpansHead {
  readonly scope: { readonly name: string; readonly version: string; readonly attributes: readonly KeyValue[] } | null
  readonly schemaUrl: string
}
interface ResourceSpansHead {
  readonly resource: { readonly attributes: readonly KeyValue[] } | null
  readonly schemaUrl: string
}

/** Message types without the high-volume fields, whose items are skipped here and read one at a time. */
const HEADS = `
message ResourceSpansHead { Resource resource = 1; string schema_url = 3; }
message ScopeSpansHead { Scope scope = 1; string schema_url = 3; }
message SpanHead {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated Time events = 11;
  message Time { fixed64 time_unix_nano = 1; }
}
`

const { root } = protobuf.parse(PROTOBUF_SCHEMA + HEADS)
root.resolveAll()
const Response = root.lookupType('Response')
const Span = root.lookupType('Span')
const ResourceSpansHeadType = root.lookupType('ResourceSpansHead')
const ScopeSpansHeadType = root.lookupType('ScopeSpansHead')
const SpanHeadType = root.lookupType('SpanHead')
/** Depths of message types in a request. */
const DEPTH = { resourceSpans: 1, scopeSpans: 2, span: 3 }
/** Field numbers used to step through messages. */
const RESOURCE_SPANS = 1
const SCOPE_SPANS = 2
const SPANS = 2
const EVENTS = 11
const LINKS = 13

/** Reads an export request. Throws `invalid_request` if the bytes do not encode an export request. */
export function decodeProtobuf(bytes: Uint8Array): SpanGroup<DivisibleSpans>[] {
  checkProtobufSignal(bytes, 'traces')
  return decoding(NAME, () => {
    const parts = new Parts()
    const ranges = findInner(bytes, { from: 0, end: bytes.length }, RESOURCE_SPANS, parts)
    return ranges.flatMap(range => readResourceSpans(bytes, range, parts))
  })
}

export const readProtobufSpans = (bytes: Uint8Array, ranges: readonly ByteRange[]): SentSpans =>
  new ProtobufSpans(bytes, ranges, new Parts())

const NAME = 'ExportTraceServiceRequest'

/** Decodes a message. Counts the message's parts first, because decoding allocates all parts at once. */
function decodeCounted<T>(type: protobuf.Type, bytes: Uint8Array, range: ByteRange, depth: number, parts: Parts): T {
  countParts(bytes, range, type, depth, parts)
  return decodeAt(type, bytes, range)
}

function decodeAt<T>(type: protobuf.Type, bytes: Uint8Array, { from, end }: ByteRange): T {
  const reader = protobuf.Reader.create(bytes)
  reader.pos = from
  return type.decode(reader, end - from) as never
}

/** Encodes the response to an export. Returns no bytes if no span was rejected and the error message is empty. */
export function encodeProtobuf(rejectedSpans: number, errorMessage: string): Uint8Array {
  if (rejectedSpans === 0 && errorMessage === '') return new Uint8Array()
  return Response.encode({ partialSuccess: { rejectedSpans, errorMessage } }).finish()
}

function readResourceSpans(bytes: Uint8Array, range: ByteRange, parts: Parts): SpanGroup<DivisibleSpans>[] {
  const { resource, schemaUrl } = decodeCounted<ResourceSpansHead>(
    ResourceSpansHeadType,
    bytes,
    range,
    DEPTH.resourceSpans,
    parts
  )
  const attributes = readAttributes(resource?.attributes ?? [])
  return findInner(bytes, range, SCOPE_SPANS, parts).map(scopeRange => {
    const group = decodeCounted<ScopeSpansHead>(ScopeSpansHeadType, bytes, scopeRange, DEPTH.scopeSpans, parts)
    const origin: Origin = {
      resource: attributes,
      resourceSchemaUrl: schemaUrl,
      scopeName: group.scope?.name ?? '',
      scopeVersion: group.scope?.version ?? '',
      scopeAttributes: readAttributes(group.scope?.attributes ?? []),
      scopeSchemaUrl: group.schemaUrl
    }
    return { origin, spans: new ProtobufSpans(bytes, findInner(bytes, scopeRange, SPANS, parts), parts) }
  })
}

class ProtobufSpans implements DivisibleSpans {
  readonly #bytes: Uint8Array
  readonly #ranges: readonly ByteRange[]
  readonly #plain: PlainSpans
  readonly #parts: Parts

  /** `parts` counts each span's parts when the span is read. */
  constructor(bytes: Uint8Array, ranges: readonly ByteRange[], parts: Parts) {
    this.#bytes = bytes
    this.#ranges = ranges
    this.#plain = new PlainSpans(bytes)
    this.#parts = parts
  }

  get length(): number {
    return this.#ranges.length
  }

  head(index: number): SentSpanHead {
    return decoding(NAME, () => readHead(this.#decode<SpanHeadMessage>(SpanHeadType, index).message))
  }

  read(index: number): OtlpSpan {
    const at = this.#ranges[index] as ByteRange
    const plain = this.#plain.read(at, this.#parts.left)
    if (plain === undefined) return decoding(NAME, () => this.#readAny(index))
    this.#parts.add(this.#plain.parts)
    return plain
  }

  #readAny(index: number): OtlpSpan {
    countParts(this.#bytes, this.#ranges[index] as ByteRange, Span, DEPTH.span, this.#parts)
    const { message, left } = this.#decode<SpanMessage>(Span, index)
    return readSpan(message, left)
  }

  /** Decodes a span's message. `left` holds the number of unread events and links, by field number. */
  #decode<T>(type: protobuf.Type, index: number): { message: T; left: ReadonlyMap<number, number> } {
    const at = this.#ranges[index] as ByteRange
    const short = at.end - at.from < 2 * MOST_EVENTS ? undefined : shorten(this.#bytes, at)
    if (short === undefined) return { message: decodeAt(type, this.#bytes, at), left: NONE_LEFT }
    return { message: decodeAt(type, short.bytes, { from: 0, end: short.bytes.length }), left: short.left }
  }

  rangeOf(index: number): ByteRange {
    return this.#ranges[index] as ByteRange
  }
}

const NONE_LEFT: ReadonlyMap<number, number> = new Map()

/**
 * Returns a span's bytes without the events and links beyond the maximum, and the number of skipped items per field.
 * Returns undefined if nothing is skipped.
 */
function shorten(bytes: Uint8Array, { from, end }: ByteRange) {
  const reader = protobuf.Reader.create(bytes)
  const most = new Map([
    [EVENTS, MOST_EVENTS],
    [LINKS, MOST_LINKS]
  ])
  const counts = new Map<number, number>()
  const left = new Map<number, number>()
  const kept: Uint8Array[] = []
  let keptFrom = from
  reader.pos = from
  while (reader.pos < end) {
    const start = reader.pos
    const tag = reader.tag()
    reader.skipType(tag & 7, 0, tag >>> 3)
    const field = tag >>> 3
    const mostOf = most.get(field)
    if (mostOf === undefined) continue
    const count = (counts.get(field) ?? 0) + 1
    counts.set(field, count)
    if (count <= mostOf) continue
    left.set(field, unread(count, mostOf))
    if (start > keptFrom) kept.push(bytes.subarray(keptFrom, start))
    keptFrom = reader.pos
  }
  if (left.size === 0) return undefined
  return { bytes: Buffer.concat([...kept, bytes.subarray(keptFrom, end)]), left }
}

const readIdentity = (span: IdentityMessage): SpanIdentity => ({
  traceId: hex(span.traceId),
  spanId: hex(span.spanId),
  parentSpanId: hex(span.parentSpanId),
  name: span.name,
  startMicros: microsOfInt64(span.startTimeUnixNano),
  endMicros: microsOfInt64(span.endTimeUnixNano)
})

const readHead = (head: SpanHeadMessage): SentSpanHead => ({
  ...readIdentity(head),
  lastEventMicros: head.events.reduce((last, { timeUnixNano }) => Math.max(last, microsOfInt64(timeUnixNano)), 0)
})

function readSpan(span: SpanMessage, left: ReadonlyMap<number, number>): OtlpSpan {
  return {
    ...readIdentity(span),
    traceState: span.traceState,
    flags: span.flags,
    kind: span.kind,
    attributes: readAttributes(span.attributes),
    droppedAttributes: span.droppedAttributesCount,
    events: span.events.map(readEvent),
    droppedEvents: span.droppedEventsCount + (left.get(EVENTS) ?? 0),
    links: span.links.map(readLink),
    droppedLinks: span.droppedLinksCount + (left.get(LINKS) ?? 0),
    statusCode: span.status?.code ?? 0,
    statusMessage: span.status?.message ?? ''
  }
}

const readEvent = (event: EventMessage): OtlpEvent => ({
  name: event.name,
  micros: microsOfInt64(event.timeUnixNano),
  attributes: readAttributes(event.attributes),
  droppedAttributes: event.droppedAttributesCount
})

const readLink = (link: LinkMessage): OtlpLink => ({
  traceId: hex(link.traceId),
  spanId: hex(link.spanId),
  traceState: link.traceState,
  attributes: readAttributes(link.attributes),
  droppedAttributes: link.droppedAttributesCount,
  flags: link.flags
})
