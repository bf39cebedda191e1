/**
 * An export request, whichever of OTLP's two encodings it came in. Ids are lower-case hexadecimal text, times are
 * microseconds since 1970, attributes are JSON values. A field that was not sent is the empty text, 0, or an empty
 * list.
 */
import type { Json } from '../../trace/json/exact-json.ts'

export type OtlpEncoding = 'protobuf' | 'json'

/** Attributes in the order in which they were sent. If a key comes twice, the last value counts. */
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
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  readonly startMicros: number
  readonly endMicros: number
  readonly attributes: Attributes
  readonly droppedAttributes: number
  readonly events: readonly OtlpEvent[]
  readonly droppedEvents: number
  readonly links: readonly OtlpLink[]
  readonly droppedLinks: number
  /** 0 unset, 1 ok, 2 error. */
  readonly statusCode: number
  readonly statusMessage: string
}

/** The origin of spans: the process that sent them (its resource), and the library in that process (the scope). */
export interface Origin {
  readonly resource: Attributes
  readonly resourceSchemaUrl: string
  readonly scopeName: string
  readonly scopeVersion: string
  readonly scopeAttributes: Attributes
  readonly scopeSchemaUrl: string
}

export type SpanIdentity = Pick<OtlpSpan, 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'startMicros' | 'endMicros'>

/** The fields of a span that decide whether it can be stored. */
export interface SentSpanHead extends SpanIdentity {
  /** The latest time of its events; 0 if it has none. */
  readonly lastEventMicros: number
}

/**
 * Spans as they were sent. Each is read when it is asked for: few bytes may be many spans, which take a hundred times
 * that when they have been read, and of which nothing may be stored.
 */
export interface SentSpans {
  readonly length: number
  head(index: number): SentSpanHead
  read(index: number): OtlpSpan
}

/** The position of a message's bytes in those of the request. */
export interface ByteRange {
  readonly from: number
  readonly end: number
}

/** Spans whose bytes can be told from each other. */
export interface DivisibleSpans extends SentSpans {
  /** The bytes of a span, in the encoding that it came in. */
  rangeOf(index: number): ByteRange
}

export interface SpanGroup<S extends SentSpans = SentSpans> {
  readonly origin: Origin
  readonly spans: S
}
