/** A span from which a trace is gathered, and the fields that the trace's sums need. */
import type { StepMark } from '../call-details.ts'
import type { PreparedSpan } from '../prepared.ts'
import { isCall } from '../span-usage.ts'
import type { CountedSpan } from './left-out.ts'

/**
 * Levels of spans. A span's level determines the grade of its claims. The root's claims are best, followed by the
 * claims of a called process's first span.
 */
export const ROOT = 1
export const PROCESS_ROOT = 2
export const INNER = 3
export type Level = typeof ROOT | typeof PROCESS_ROOT | typeof INNER

/** A span's claims about its trace. JSON values are text. Missing fields are undefined. */
export interface SpanHints {
  readonly level: Level
  readonly startMicros: number
  readonly endMicros: number
  /** Whether the span's end, on arrival, was so far in the future that the sender's clock must be wrong. */
  readonly endsInFuture: boolean
  /** The trace's name, if the span reports one. */
  readonly name: string | undefined
  /** The name that the trace takes from this span if `name` is undefined. */
  readonly ownName: string
  /**
   * The trace's input and output, if the span reports these values. Otherwise, the span's own input and output are
   * used.
   */
  readonly input: string | undefined
  readonly output: string | undefined
  readonly sessionId: string | undefined
  readonly userId: string | undefined
  /** Session and user from the span's resource. Used only if no span reports a session or user itself. */
  readonly resourceSessionId: string | undefined
  readonly resourceUserId: string | undefined
  /** The id of the provider's response, if the span is a model call. */
  readonly responseId: string | undefined
  /** The id of the tool use, if the span is a tool call. */
  readonly toolCallId?: string | undefined
  /**
   * Set if the span is a step (lib/trace/states/steps.ts): the id that the call's span has if the span is made from a
   * transcript.
   */
  readonly callSpanId?: string | undefined
  readonly tags: readonly string[]
  /** Whether an attribute's value does not fit in a tag. */
  readonly tagsLeftOut?: boolean | undefined
  readonly metadata: Readonly<Record<string, string>>
}

/** The facts about a span's input or output that decide whether the trace takes it. */
export interface TextHead {
  /** Size in UTF-8 bytes. */
  readonly bytes: number
  /** Whether the text is the notation of a Python object, which people cannot read. */
  readonly isNotation: boolean
  /** The text; undefined if it must be read from the span. */
  readonly text?: string | undefined
}

/** The heads of the texts that the trace can take. */
export interface TextHeads {
  readonly input: TextHead | null
  readonly output: TextHead | null
}

/** The part of a span from which its trace is built. The span's row contains the remaining fields. */
export interface GatheredSpan extends Omit<PreparedSpan, 'name' | 'attributes' | 'events'> {
  readonly hints: SpanHints
  readonly textHeads: TextHeads
  /** Whether costUsd was computed from the span's tokens. */
  readonly costIsComputed?: boolean | undefined
  /** Size of the document with its texts cut (cut-texts.ts), in bytes. If undefined, the texts are never cut. */
  readonly cutBytes?: number
}

/** Returns the span fields that the sums read. */
export const gatheredUsage = (span: GatheredSpan): CountedSpan => ({
  id: span.id,
  parentId: span.parentId,
  kind: span.kind,
  inputTokens: span.inputTokens,
  outputTokens: span.outputTokens,
  totalTokens: span.totalTokens,
  costUsd: span.costUsd,
  costIsComputed: span.costIsComputed,
  model: span.model,
  startMicros: span.hints.startMicros,
  endMicros: span.hints.endMicros,
  responseId: isCall(span) ? span.hints.responseId : undefined,
  failed: span.status === 'error',
  toolCallId: span.hints.toolCallId,
  step: stepMark(span.hints, span)
})

/** Returns the mark that is stored with a step; undefined for other spans. */
export function stepMark(
  { callSpanId }: SpanHints,
  { bytes, hash }: Pick<GatheredSpan, 'bytes' | 'hash'>
): StepMark | undefined {
  return callSpanId === undefined ? undefined : { call: callSpanId, bytes, hash }
}
