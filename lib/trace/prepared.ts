/**
 * Prepared bodies: plain values that can cross threads and contain everything the write path needs. Timestamps are
 * canonical (UTC, `Z`, three or six fraction digits). JSON is compact text with keys in the order sent.
 */
import type { PlacedMessages } from './span-messages.ts'

/** Token counts as the client sent them; null if not sent. */
export interface UsageFields {
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly totalTokens: number | null
}

/** A span, ready to be stored. Null represents null input and output, empty attributes and empty events. */
export interface PreparedSpan extends UsageFields {
  readonly id: string
  readonly parentId: string | null
  readonly name: string
  readonly kind: string
  readonly status: string
  readonly startedAt: string
  readonly endedAt: string
  readonly provider: string | null
  readonly model: string | null
  readonly input: string | null
  readonly output: string | null
  readonly attributes: string | null
  readonly events: string | null
  readonly costUsd: number | null
  /** CallDetails as JSON. Only spans from OpenTelemetry have any. */
  readonly callDetails?: string | null
  /** SHA-256 of the canonical document, as 64 hexadecimal digits. */
  readonly hash: string
  /** `hash` with numbers in the former form (json/canonical-number.ts). Undefined if both forms are the same. */
  readonly formerHash?: string | undefined
  /** Number of UTF-8 bytes in the document, with numbers as sent. */
  readonly bytes: number
}

/**
 * A span of a trace to record. `hash` is null if the trace is recorded whole: it accepts no further spans, so none is
 * compared with its spans. Only an import compares them, if the trace's hash does not suffice
 * (lib/store/write/span-hashes.ts). The spans of imported traces have hashes.
 */
export type TraceSpan = Omit<PreparedSpan, 'hash'> & { readonly hash: string | null }

/** The part of a span that is read to decide an operation. `hash` may be the short hash. */
export type SpanHead = Pick<PreparedSpan, 'id' | 'kind' | 'status' | 'hash' | 'formerHash' | 'bytes'>

/**
 * Returns the 128 bits of a span's hash that are stored and compared. The full hash would add 16 bytes to every row.
 */
export const shortHash = ({ hash }: Pick<PreparedSpan, 'hash'>): string => hash.slice(0, SHORT_HASH_DIGITS)
export const SHORT_HASH_DIGITS = 32

/** Asserts that the spans have hashes. */
export function assertHashed(spans: readonly TraceSpan[]): asserts spans is readonly PreparedSpan[] {
  const other = spans.find(({ hash }) => hash === null)
  if (other !== undefined) throw new Error(`span ${other.id} was prepared without a hash`)
}

/** Whether a stored span with this short hash has the same content as `span`. */
export const isStoredAs = (stored: string, span: Pick<PreparedSpan, 'hash' | 'formerHash'>): boolean =>
  stored === shortHash(span) || (span.formerHash !== undefined && stored === shortHash({ hash: span.formerHash }))

/** A trace document's fields, without input and output. */
export interface TraceFields extends UsageFields {
  readonly name: string
  /** The trace's status; `running` if endedAt is null. */
  readonly status: string
  readonly startedAt: string
  readonly endedAt: string | null
  readonly provider: string | null
  readonly model: string | null
  readonly sessionId: string | null
  readonly userId: string | null
  readonly tags: readonly string[]
  readonly costUsd: number | null
  /** The metadata, an object, as JSON text; null for {}. */
  readonly metadata: string | null
}

/** The spans of a body. */
export interface PreparedSpans<Span extends TraceSpan = PreparedSpan> {
  readonly spans: readonly Span[]
  /**
   * Whether the spans' free-form JSON, and that of a trace, is byte texts (json/byte-text.ts). Other strings never are.
   */
  readonly areByteTexts?: boolean | undefined
}

/** A trace to record: the body of POST /api/v1/traces. */
export interface PreparedTrace<Span extends TraceSpan = TraceSpan> extends TraceFields, PreparedSpans<Span> {
  readonly operation: 'record'
  readonly traceId: string
  readonly input: string | null
  readonly output: string | null
  /** SHA-256 of the canonical body, including spans. */
  readonly hash: string
  /** `hash` with numbers in the former form. Undefined if both forms are the same. */
  readonly formerHash?: string | undefined
  /** Number of UTF-8 bytes in the trace document, excluding spans. */
  readonly bytes: number
  /** For a trace gathered from spans: the span that each field was taken from, as JSON text. */
  readonly ranks?: string | null
  /** For a trace gathered from spans: number of failed spans, including left-out spans. */
  readonly errorCount?: number
}

export interface PastScore {
  readonly id: string
  readonly spanId: string | null
  readonly name: string
  readonly dataType: string
  readonly value: number | string | boolean
  readonly comment: string | null
  readonly source: string
  readonly evaluatorId: string | null
  readonly runId: string | null
  readonly createdAt: string
}

/** A restored trace's history, which recording the trace again would lose. */
export interface Past {
  /** The environment as stored: a label, `unassigned`, or null if the environment was never recorded. */
  readonly environment: string | null
  readonly keyId: string | null
  readonly ingestedAt: string | null
  readonly metadataUpdatedAt: string | null
  readonly endHash: string | null
  /** The trace's recorded size in bytes. If undefined, the size is computed from the trace's documents. */
  readonly estimatedBytes: number | undefined
  /** The trace's scores in insertion order, oldest first. */
  readonly scores: readonly PastScore[]
  /** Messages that arrived separately from their spans. */
  readonly messages: readonly PlacedMessages[]
  /** Whether any span's cost was computed from its tokens and therefore depends on prices. */
  readonly hasComputedCosts?: boolean
  /** Hash of the line's content. The trace's `hash` is the one that the line states, from before patches. */
  readonly contentHash?: string
}

/** A line of an export: a running or complete trace, as it was at the time of the export. */
export interface RestoredTrace extends PreparedTrace<PreparedSpan> {
  readonly past: Past
}

/** Spans to add to a running trace: the body of POST /api/v1/traces/{traceId}/spans. */
export interface PreparedAppend extends PreparedSpans {
  readonly operation: 'append'
}

/** The end of a running trace. A field that the client did not send is undefined and keeps its stored value. */
export interface PreparedEnd extends PreparedSpans {
  readonly operation: 'end'
  readonly endedAt: string
  readonly status: string
  readonly provider: string | undefined
  readonly model: string | undefined
  /** The trace's output; undefined if not sent, null if sent as null. */
  readonly output: string | null | undefined
  readonly usage: UsageFields | undefined
  readonly costUsd: number | undefined
  readonly metadata: string | undefined
  readonly tags: readonly string[]
  /** SHA-256 of the canonical end body, including spans. */
  readonly hash: string
  readonly formerHash?: string | undefined
}

export type Prepared = PreparedTrace | PreparedAppend | PreparedEnd
