/**
 * Renders traces and spans as JSON for responses, assembled from columns. Free-form JSON is never parsed on output. The
 * output is therefore exact, and costs little more than copying (test/bench/RESULTS.md, "JSON text").
 */
import { UNASSIGNED } from '../../trace/environment.ts'
import type { PreparedSpan, TraceFields, UsageFields } from '../../trace/prepared.ts'
import { list, plain, raw, text } from './json-text.ts'
import { renderScore, renderScoreMap, type ScoreRow } from './score-json.ts'

export interface SummaryRow extends Omit<TraceFields, 'tags' | 'metadata'> {
  readonly id: string
  /** The trace's environment: a label or 'unassigned'; null if the environment was never recorded. */
  readonly environment: string | null
  readonly durationMs: number | null
  readonly tags: readonly string[] | null
  readonly spanCount: number
  readonly errorCount: number
  readonly estimatedBytes: number
  readonly ingestedAt: string | null
}

/** Columns of a trace detail. Input, output and metadata are JSON-encoded. */
export interface StoredTraceRow extends SummaryRow {
  readonly input: string | null
  readonly output: string | null
  readonly metadata: string | null
  readonly metadataUpdatedAt: string | null
  readonly bodyHash: string
}

/** Columns of a span. Input, output, attributes and events are JSON-encoded. */
export interface SpanRow extends Omit<PreparedSpan, 'parentId' | 'callDetails' | 'hash' | 'formerHash' | 'bytes'> {
  readonly parentSpanId: string | null
  readonly durationMs: number
}

/** Renders usage with all three counts. A missing count is 0, and a missing total is the sum, up to 2^53 - 1. */
export function renderUsage({ inputTokens, outputTokens, totalTokens }: UsageFields): string {
  const input = inputTokens ?? 0
  const output = outputTokens ?? 0
  const total = totalTokens ?? Math.min(input + output, Number.MAX_SAFE_INTEGER)
  return `{"inputTokens":${input},"outputTokens":${output},"totalTokens":${total}}`
}

/** Renders a span's usage; null if none was recorded. */
export function renderSpanUsage(span: UsageFields): string {
  const absent = span.inputTokens === null && span.outputTokens === null && span.totalTokens === null
  return absent ? 'null' : renderUsage(span)
}

/** Renders the member `environment` with a leading comma. Its value is a label or null. */
export function environmentMember({ environment }: Pick<SummaryRow, 'environment'>): string {
  return `,"environment":${text(environment === UNASSIGNED ? null : environment)}`
}

/** Renders the members of a summary (specification 2.4), without braces. `scores` is the JSON-encoded map. */
export function summaryMembers(trace: SummaryRow, scores: string, environment = environmentMember(trace)): string {
  return joinSummary(
    {
      id: trace.id,
      name: text(trace.name),
      status: trace.status,
      environment,
      startedAt: trace.startedAt,
      endedAt: plain(trace.endedAt),
      durationMs: trace.durationMs,
      provider: text(trace.provider),
      model: text(trace.model),
      sessionId: text(trace.sessionId),
      userId: text(trace.userId),
      tags: trace.tags === null ? '[]' : JSON.stringify(trace.tags),
      usage: renderUsage(trace),
      costUsd: trace.costUsd,
      spanCount: trace.spanCount,
      errorCount: trace.errorCount,
      estimatedBytes: trace.estimatedBytes,
      ingestedAt: plain(trace.ingestedAt)
    },
    scores
  )
}

/**
 * JSON-encoded values of a summary's members, except that id, status and startedAt lack quotes. `environment` is the
 * whole member, with a leading comma.
 */
export type SummaryParts = Readonly<
  Record<Exclude<keyof SummaryRow, keyof UsageFields> | 'usage', number | string | null>
>

/** Joins the members of a summary, in the order of the specification. */
export function joinSummary(trace: SummaryParts, scores: string): string {
  return (
    `"id":"${trace.id}","name":${trace.name},"status":"${trace.status}"${trace.environment}` +
    `,"startedAt":"${trace.startedAt}","endedAt":${trace.endedAt},"durationMs":${trace.durationMs}` +
    `,"provider":${trace.provider},"model":${trace.model},"sessionId":${trace.sessionId},"userId":${trace.userId}` +
    `,"tags":${trace.tags},"usage":${trace.usage},"costUsd":${trace.costUsd},"spanCount":${trace.spanCount}` +
    `,"errorCount":${trace.errorCount},"estimatedBytes":${trace.estimatedBytes}` +
    `,"ingestedAt":${trace.ingestedAt},"scores":${scores}`
  )
}

/** Renders the span output object (specification 2.6). Events are stored in the form that responses use. */
export function renderSpan(span: SpanRow, traceId: string): string {
  return (
    `{${renderSpanHead(span, traceId)}` +
    `,"input":${raw(span.input, 'null')},"output":${raw(span.output, 'null')}` +
    `,"attributes":${raw(span.attributes, '{}')},"events":${raw(span.events, '[]')}` +
    `,"usage":${renderSpanUsage(span)},"costUsd":${span.costUsd}}`
  )
}

/** Renders a span's members up to its texts, without braces. */
export function renderSpanHead(span: SpanRow, traceId: string): string {
  return (
    `"id":"${span.id}","traceId":"${traceId}","parentSpanId":${plain(span.parentSpanId)}` +
    `,"name":${text(span.name)},"kind":"${span.kind}","status":"${span.status}"` +
    `,"startedAt":"${span.startedAt}","endedAt":"${span.endedAt}","durationMs":${span.durationMs}` +
    `,"provider":${text(span.provider)},"model":${text(span.model)}`
  )
}

/**
 * Renders the members of `trace` in a trace detail (specification 2.5), without braces. Scores must be in response
 * order.
 */
export function detailMembers(trace: StoredTraceRow, scores: readonly ScoreRow[], environment?: string): string {
  return (
    summaryMembers(trace, renderScoreMap(scores), environment) +
    `,"input":${raw(trace.input, 'null')},"output":${raw(trace.output, 'null')}` +
    `,"metadata":${raw(trace.metadata, '{}')},"metadataUpdatedAt":${plain(trace.metadataUpdatedAt)}` +
    `,"bodyHash":"${trace.bodyHash}"`
  )
}

interface TraceAndScores {
  readonly trace: StoredTraceRow
  readonly scores: readonly ScoreRow[]
}

/** Renders the JSON parts of a whole trace's response. The caller puts commas between spans. */
export interface PartTexts {
  head(shown: TraceAndScores): string
  span(span: SpanRow, traceId: string): string
  foot(shown: TraceAndScores, traceId: string): string
}

/** Parts of a trace that is shown by a public link: without scores, which members may have written for each other. */
export const SHARED_PARTS: PartTexts = {
  head: ({ trace }) => `{"trace":{${detailMembers(trace, [])}},"spans":[`,
  span: renderSpan,
  foot: () => ']}'
}

/** Parts of the trace detail. Spans and scores must be in response order. */
export const DETAIL_PARTS: PartTexts = {
  head: ({ trace, scores }) => `{"trace":{${detailMembers(trace, scores)}},"spans":[`,
  span: renderSpan,
  foot: ({ scores }, traceId) => `],"scores":${list(scores.map(score => renderScore(score, traceId)))}}`
}
