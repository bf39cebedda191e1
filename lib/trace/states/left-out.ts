/**
 * Remembers spans without a slot in a gathered trace, among the trace's ranks. The remembered usage and failures keep
 * the trace's sums correct, and the remembered ids keep resent spans from counting twice.
 */
import type { StepMark } from '../call-details.ts'
import { setMark } from '../metadata.ts'
import type { SpanUsage } from '../span-usage.ts'
import { isCells, isString, orNull, type Rank, type Ranks, SPENDING } from './ranks.ts'

/** Prefix of the rank names for left-out spans. The span id follows the prefix. */
const LEFT_OUT = 'leftOut.'
const MARK = 'spansLeftOut'
/**
 * Maximum number of left-out spans that a trace counts. Recognising resends of more spans would take over a megabyte.
 */
export const MOST_LEFT_OUT = 5000
/**
 * Grades of left-out spans. Versions up to 1.0.0-rc.1 wrote 0 for every span. FAILED is the better grade, so that a
 * trace with a known failure counts as a later state than a trace without that failure.
 */
export const FAILED = -1
const NOT_KNOWN_TO_FAIL = 0

/** The fields of a span that the trace's sums need. */
export interface CountedSpan extends SpanUsage {
  readonly failed: boolean
  /** The id of the tool use, if the span is a tool call. */
  readonly toolCallId?: string | undefined
  /** Mark of a step made from log records (lib/trace/states/steps.ts); undefined for other spans. */
  readonly step?: StepMark | undefined
}

type Cells = readonly [
  parentId: string | null,
  kind: string,
  model: string | null,
  inputTokens: number | null,
  outputTokens: number | null,
  totalTokens: number | null,
  costUsd: number | null,
  startMicros: number,
  responseId?: string | null,
  costIsComputed?: boolean
]

/** Returns ranks for left-out spans that are new, or newly known to have failed, up to MOST_LEFT_OUT. */
export function ranksOfLeftOut(ranks: Ranks | undefined, spans: readonly CountedSpan[]): Ranks {
  if (spans.length === 0) return {}
  const known = ranks ?? {}
  const news: Record<string, Rank> = {}
  let room = MOST_LEFT_OUT - Object.keys(known).filter(isLeftOut).length
  for (const span of spans) {
    const name = LEFT_OUT + span.id
    const rank = Object.hasOwn(known, name) ? known[name] : undefined
    if (rank === undefined) {
      if (room-- > 0) news[name] = encode(span)
    } else if (span.failed && rank[0] !== FAILED) news[name] = [FAILED, rank[1], rank[2]]
  }
  return news
}

/** Reads the left-out spans, except spans in `placed`, because a resent span may have a slot by now. */
export function readLeftOut(ranks: Ranks, placed: { has(id: string): boolean }): CountedSpan[] {
  return Object.keys(ranks)
    .filter(name => isLeftOut(name) && !placed.has(name.slice(LEFT_OUT.length)))
    .map(name => decode(name.slice(LEFT_OUT.length), ranks[name] as Rank))
}

export function countFailed(spans: Iterable<CountedSpan>): number {
  let count = 0
  for (const { failed } of spans) if (failed) count++
  return count
}

/** Records in the metadata the number of left-out spans, in total and by kind. */
export function markLeftOut(metadata: string | null, ranks: Ranks, spans: readonly SpanUsage[]): string | null {
  if (spans.length === 0) return Object.keys(ranks).some(isLeftOut) ? setMark(metadata, MARK, undefined) : metadata
  const kinds: Record<string, number> = {}
  for (const { kind } of spans) kinds[kind] = (kinds[kind] ?? 0) + 1
  const sorted = Object.fromEntries(Object.entries(kinds).sort(([a], [b]) => (a < b ? -1 : 1)))
  return setMark(metadata, MARK, { count: spans.length, kinds: sorted })
}

/** The number of left-out spans, in total and by kind. */
export interface LeftOut {
  readonly count: number
  readonly kinds: Readonly<Record<string, number>>
}

/** Reads the counts that `markLeftOut`, or a client, wrote to a trace's metadata. The metadata may hold any JSON. */
export function leftOutOf({ spoor }: { readonly spoor?: unknown }): LeftOut | undefined {
  const { [MARK]: mark } = Object(spoor) as { readonly [MARK]?: unknown }
  const { count, kinds } = Object(mark) as { readonly count?: unknown; readonly kinds?: unknown }
  if (!isNumber(count)) return undefined
  const known = Object.entries(Object(kinds)).filter((entry): entry is [string, number] => isNumber(entry[1]))
  return { count, kinds: Object.fromEntries(known) }
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

export const isLeftOut = (name: string): boolean => name.startsWith(LEFT_OUT)

/** Whether a string, which may come from an untrusted file, is a serialised left-out span. */
export const isLeftOutText = (text: string): boolean =>
  isCells(text, [
    ...[orNull(isString), isString, orNull(isString), ...SPENDING, Number.isSafeInteger],
    responseId => responseId === undefined || responseId === null || isString(responseId),
    isComputed => isComputed === undefined || typeof isComputed === 'boolean'
  ])

/** Encodes a left-out span as a rank: grade, end in microseconds since 1970, and the other fields as JSON text. */
function encode(span: CountedSpan): Rank {
  const { parentId, kind, model, inputTokens, outputTokens, totalTokens, costUsd, startMicros, responseId } = span
  const cells = [parentId, kind, model, inputTokens, outputTokens, totalTokens, costUsd, startMicros] as const
  const isComputed = span.costIsComputed === true
  const more = isComputed ? [responseId ?? null, true] : responseId === undefined ? [] : [responseId]
  const grade = span.failed ? FAILED : NOT_KNOWN_TO_FAIL
  return [grade, span.endMicros, JSON.stringify([...cells, ...more])]
}

function decode(id: string, [grade, endMicros, text]: Rank): CountedSpan {
  const [
    parentId,
    kind,
    model,
    inputTokens,
    outputTokens,
    totalTokens,
    costUsd,
    startMicros,
    response,
    computed
  ]: Cells = JSON.parse(text)
  const tokens = { inputTokens, outputTokens, totalTokens }
  const [responseId, costIsComputed] = [response ?? undefined, computed === true]
  const failed = grade === FAILED
  return { id, parentId, kind, model, ...tokens, costUsd, costIsComputed, startMicros, endMicros, responseId, failed }
}
