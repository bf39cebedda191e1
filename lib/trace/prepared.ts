/**
 * Bodies made ready: everything that the write path needs of them, as plain values that can cross threads. Times are
 * canonical text (UTC, `Z`, three or six fraction digits). JSON is compact text with keys in the order sent.
 */
import type { PlacedMessages } from './span-messages.ts'

/** Token counts as the client sent them; null if not sent. */
export interface UsageFields {
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly totalTokens: number | null
}

/** One span, ready to be a row. JSON that is null (input, output), {} (attributes) or [] (events) is null here. */
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
  /** JSON text of CallDetails; only a span that OpenTelemetry recorded has any. */
  readonly callDetails?: string | null
  /** SHA-256 of the canonical document, 64 hexadecimal digits. */
  readonly hash: string
  /** The same in the former form of numbers (lib/trace/json/canonical-number.ts), if that differs. */
  readonly formerHash?: string | undefined
  /** UTF-8 bytes of the document, numbers as they were sent. */
  readonly bytes: number
}

/** The part of a span that decisions read. The hash may be the short one. */
export type SpanHead = Pick<PreparedSpan, 'id' | 'status' | 'hash' | 'formerHash' | 'bytes'>

/**
 * The part of a span's hash that is stored and compared: 128 bits. The whole hash would make every row 16 bytes
 * longer.
 */
export const shortHash = ({ hash }: Pick<PreparedSpan, 'hash'>): string => hash.slice(0, SHORT_HASH_DIGITS)
export const SHORT_HASH_DIGITS = 32

/** Whether a span that is stored with this short hash has the content of this one. */
export const isStoredAs = (stored: string, span: Pick<PreparedSpan, 'hash' | 'formerHash'>): boolean =>
  stored === shortHash(span) || (span.formerHash !== undefined && stored === shortHash({ hash: span.formerHash }))

/** The fields of a trace document, without input and output. */
export interface TraceFields extends UsageFields {
  readonly name: string
  /** 'running' if endedAt is null. */
  readonly status: string
  readonly startedAt: string
  readonly endedAt: string | null
  readonly provider: string | null
  readonly model: string | null
  readonly sessionId: string | null
  readonly userId: string | null
  readonly tags: readonly string[]
  readonly costUsd: number | null
  /** An object as JSON text; null for {}. */
  readonly metadata: string | null
}

/** A trace as it is recorded: the body of POST /api/v1/traces. */
export interface PreparedTrace extends TraceFields {
  readonly operation: 'record'
  readonly traceId: string
  readonly input: string | null
  readonly output: string | null
  readonly spans: readonly PreparedSpan[]
  /** SHA-256 of the canonical body, spans included. */
  readonly hash: string
  /** The same in the former form of numbers, if that differs. */
  readonly formerHash?: string | undefined
  /** UTF-8 bytes of the trace document, spans left out. */
  readonly bytes: number
  /** Only for a trace that is gathered from spans: which span each field was taken from, as JSON text. */
  readonly ranks?: string | null
  /** Only for a trace that is gathered from spans: how many failed, with those that were left out. */
  readonly errorCount?: number
}

/** A score that a restored trace brings along. */
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

/** The history of a restored trace, which recording it anew would lose. */
export interface Past {
  /** As stored: a label, 'unassigned', or null if it was never recorded. */
  readonly environment: string | null
  readonly keyId: string | null
  readonly ingestedAt: string | null
  readonly metadataUpdatedAt: string | null
  readonly endHash: string | null
  /** Undefined if it follows from the documents. */
  readonly estimatedBytes: number | undefined
  /** Oldest first, the order in which they are inserted. */
  readonly scores: readonly PastScore[]
  /** Messages that came apart from the spans. */
  readonly messages: readonly PlacedMessages[]
}

/** A line of an export: a trace as it stood when it was exported, running or complete. */
export interface RestoredTrace extends PreparedTrace {
  readonly past: Past
}

/** Spans for a running trace: the body of POST /api/v1/traces/{traceId}/spans. */
export interface PreparedAppend {
  readonly operation: 'append'
  readonly spans: readonly PreparedSpan[]
}

/** The end of a running trace. What the client did not send is undefined and keeps its value. */
export interface PreparedEnd {
  readonly operation: 'end'
  readonly endedAt: string
  readonly status: string
  readonly provider: string | undefined
  readonly model: string | undefined
  /** Undefined: not sent. Null: sent as null. */
  readonly output: string | null | undefined
  readonly usage: UsageFields | undefined
  readonly costUsd: number | undefined
  /** An object as JSON text. */
  readonly metadata: string | undefined
  readonly tags: readonly string[]
  readonly spans: readonly PreparedSpan[]
  /** SHA-256 of the canonical end body, spans included. */
  readonly hash: string
  /** The same in the former form of numbers, if that differs. */
  readonly formerHash?: string | undefined
}

export type Prepared = PreparedTrace | PreparedAppend | PreparedEnd
