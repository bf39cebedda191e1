/**
 * Remembers the spans that found no place in a gathered trace. Their usage and failures are kept, so that the sums of
 * the trace are right, and their ids, so that none counts twice when it is sent again. They are stored among the ranks
 * of the trace.
 */
import type { SpanUsage } from '../span-usage.ts'
import { setMark } from './marks.ts'
import type { Rank, Ranks } from './ranks.ts'

/** The prefix of spans that were left out in the names of ranks, in front of the id of the span. */
const LEFT_OUT = 'leftOut.'
const MARK = 'spansLeftOut'
/** Further spans are refused and no longer counted in the trace: a megabyte would be needed to recognise them again. */
export const MOST_LEFT_OUT = 5000
/**
 * The grades of spans that were left out. Versions up to 1.0.0-rc.1 wrote 0 for every span. FAILED is the better grade,
 * so that a trace that knows of the failure is the later state of one that does not.
 */
export const FAILED = -1
const NOT_KNOWN_TO_FAIL = 0

/** A span as the sums of its trace need it. */
export interface CountedSpan extends SpanUsage {
  readonly failed: boolean
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
  responseId?: string
]

/** The ranks of spans that are left out now, as far as they are news and there is room. */
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

/** The spans that were left out. One that was sent again later may have found a place: it is among `placed`. */
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

/** Says in the metadata how many spans are left out, and of which kinds. */
export function markLeftOut(metadata: string | null, ranks: Ranks, spans: readonly SpanUsage[]): string | null {
  if (spans.length === 0) return Object.keys(ranks).some(isLeftOut) ? setMark(metadata, MARK, undefined) : metadata
  const kinds: Record<string, number> = {}
  for (const { kind } of spans) kinds[kind] = (kinds[kind] ?? 0) + 1
  const sorted = Object.fromEntries(Object.entries(kinds).sort(([a], [b]) => (a < b ? -1 : 1)))
  return setMark(metadata, MARK, { count: spans.length, kinds: sorted })
}

/** How many spans a trace was left without, and of which kinds. */
export interface LeftOut {
  readonly count: number
  readonly kinds: Readonly<Record<string, number>>
}

/** Reads what `markLeftOut`, or a client, has said in a trace's metadata, which may hold anything. */
export function leftOutOf({ spoor }: { readonly spoor?: unknown }): LeftOut | undefined {
  const { [MARK]: mark } = Object(spoor) as { readonly [MARK]?: unknown }
  const { count, kinds } = Object(mark) as { readonly count?: unknown; readonly kinds?: unknown }
  if (!isNumber(count)) return undefined
  const known = Object.entries(Object(kinds)).filter((entry): entry is [string, number] => isNumber(entry[1]))
  return { count, kinds: Object.fromEntries(known) }
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

export const isLeftOut = (name: string): boolean => name.startsWith(LEFT_OUT)

/** Whether a text, which may come from a file that anybody wrote, is that of a span that was left out. */
export function isLeftOutText(text: string): boolean {
  try {
    const [parentId, kind, model, input, output, total, cost, start, responseId] = JSON.parse(text)
    const isCount = (value: unknown) => value === null || Number.isSafeInteger(value)
    return (
      [parentId, model, responseId ?? null].every(value => value === null || typeof value === 'string') &&
      typeof kind === 'string' &&
      [input, output, total].every(isCount) &&
      (cost === null || Number.isFinite(cost)) &&
      Number.isSafeInteger(start)
    )
  } catch {
    return false
  }
}

/** The rank of a span that was left out: its grade, the end in microseconds since 1970, and the rest as JSON text. */
function encode(span: CountedSpan): Rank {
  const { parentId, kind, model, inputTokens, outputTokens, totalTokens, costUsd, startMicros, responseId } = span
  const cells: Cells = [parentId, kind, model, inputTokens, outputTokens, totalTokens, costUsd, startMicros]
  const grade = span.failed ? FAILED : NOT_KNOWN_TO_FAIL
  return [grade, span.endMicros, JSON.stringify(responseId === undefined ? cells : [...cells, responseId])]
}

function decode(id: string, [grade, endMicros, text]: Rank): CountedSpan {
  const [parentId, kind, model, inputTokens, outputTokens, totalTokens, costUsd, startMicros, responseId]: Cells =
    JSON.parse(text)
  const tokens = { inputTokens, outputTokens, totalTokens }
  const failed = grade === FAILED
  return { id, parentId, kind, model, ...tokens, costUsd, startMicros, endMicros, responseId, failed }
}
