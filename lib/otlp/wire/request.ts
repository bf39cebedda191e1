/**
 * An export request, independent of its OTLP encoding. Ids are lower-case hexadecimal strings, times are microseconds
 * since 1970, and attributes are JSON values. A field that was not sent is an empty string, 0, or an empty list.
 */
import type { Json } from '../../trace/json/exact-json.ts'

export type OtlpEncoding = 'protobuf' | 'json'

/** Attributes in the order sent. If a key is repeated, the last value is used. */
export type Attributes = ReadonlyMap<string, Json>

export interface OtlpEvent {
  readonly name: string
  readonly micros: number
  readonly attributes: Attributes
  readonly droppedAttributes: number
}

export interface OtlpLink {
  readonly traceId: string
  readonly spanId: string
  readonly traceState: string
  readonly attributes: Attributes
  readonly droppedAttributes: number
  readonly flags: number
}

export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly traceState: string
  readonly flags: number
  readonly name: string
  /** The span's kind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  readonly startMicros: number
  readonly endMicros: number
  readonly attributes: Attributes
  readonly droppedAttributes: number
  readonly events: readonly OtlpEvent[]
  readonly droppedEvents: number
  readonly links: readonly OtlpLink[]
  readonly droppedLinks: number
  /** The span's status: 0 unset, 1 ok, 2 error. */
  readonly statusCode: number
  readonly statusMessage: string
}

/** The origin of spans: the process that sent them (the resource) and the library within that process (the scope). */
export interface Origin {
  readonly resource: Attributes
  readonly resourceSchemaUrl: string
  readonly scopeName: string
  readonly scopeVersion: string
  readonly scopeAttributes: Attributes
  readonly scopeSchemaUrl: string
}

export type SpanIdentity = Pick<OtlpSpan, 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'startMicros' | 'endMicros'>

/** Fields that determine whether a span can be stored. */
export interface SentSpanHead extends SpanIdentity {
  /** Time of the span's latest event; 0 if the span has no events. */
  readonly lastEventMicros: number
}

/**
 * Spans as sent, decoded on demand. A few bytes can encode many spans. Decoded spans take a hundred times as much
 * memory, and may never be stored.
 */
export interface SentSpans {
  readonly length: number
  head(index: number): SentSpanHead
  read(index: number): OtlpSpan
}

/** Position of a message's bytes in the request. */
export interface ByteRange {
  readonly from: number
  readonly end: number
}

/** Spans that each occupy a separate byte range. */
export interface DivisibleSpans extends SentSpans {
  /** Returns the range of a span's encoded bytes. */
  rangeOf(index: number): ByteRange
}

export interface SpanGroup<S extends SentSpans = SentSpans> {
  readonly origin: Origin
  readonly spans: S
}
