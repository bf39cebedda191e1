/**
 * What a gathered trace keeps of spans that found no place in it: what they used, so that the sums of the trace are
 * right, and their ids, so that none counts twice when it is sent again. It stands among the ranks of the trace.
 */
import type { SpanUsage } from '../span-usage.ts'
import { setMark } from './marks.ts'
import type { Rank, Ranks } from './ranks.ts'

/** The prefix of spans that were left out in the names of ranks, in front of the id of the span. */
const LEFT_OUT = 'leftOut.'
const MARK = 'spansLeftOut'
/**
 * Spans beyond so many are refused, and no longer counted in the trace: it would take a megabyte to know them again.
 */
export const MOST_LEFT_OUT = 5000

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

/** The ranks of spans that are left out now, as far as they are not known and there is room. */
export function ranksOfLeftOut(ranks: Ranks | undefined, spans: readonly SpanUsage[]): Ranks {
  const known = ranks ?? {}
  const fresh = spans.filter(({ id }) => !Object.hasOwn(known, LEFT_OUT + id))
  if (fresh.length === 0) return {}
  const room = MOST_LEFT_OUT - Object.keys(known).filter(isLeftOut).length
  return Object.fromEntries(fresh.slice(0, Math.max(0, room)).map(span => [LEFT_OUT + span.id, encode(span)]))
}

/** The spans that were left out. One that was sent again later may have found a place: it is among `placed`. */
export function readLeftOut(ranks: Ranks, placed: readonly SpanUsage[]): SpanUsage[] {
  const names = Object.keys(ranks).filter(isLeftOut)
  if (names.length === 0) return []
  const ids = new Set(placed.map(({ id }) => LEFT_OUT + id))
  return names.filter(name => !ids.has(name)).map(name => decode(name.slice(LEFT_OUT.length), ranks[name] as Rank))
}

/** Says in the metadata how many spans are left out, and of which kinds. */
export function markLeftOut(metadata: string | null, ranks: Ranks, spans: readonly SpanUsage[]): string | null {
  if (spans.length === 0) return Object.keys(ranks).some(isLeftOut) ? setMark(metadata, MARK, undefined) : metadata
  const kinds: Record<string, number> = {}
  for (const { kind } of spans) kinds[kind] = (kinds[kind] ?? 0) + 1
  const sorted = Object.fromEntries(Object.entries(kinds).sort(([a], [b]) => (a < b ? -1 : 1)))
  return setMark(metadata, MARK, { count: spans.length, kinds: sorted })
}

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

/** The rank of a span that was left out: 0, the end in microseconds since 1970, and the rest as JSON text. */
function encode(span: SpanUsage): Rank {
  const { parentId, kind, model, inputTokens, outputTokens, totalTokens, costUsd, startMicros, responseId } = span
  const cells: Cells = [parentId, kind, model, inputTokens, outputTokens, totalTokens, costUsd, startMicros]
  return [0, span.endMicros, JSON.stringify(responseId === undefined ? cells : [...cells, responseId])]
}

function decode(id: string, [, endMicros, text]: Rank): SpanUsage {
  const [parentId, kind, model, inputTokens, outputTokens, totalTokens, costUsd, startMicros, responseId]: Cells =
    JSON.parse(text)
  const tokens = { inputTokens, outputTokens, totalTokens }
  return { id, parentId, kind, model, ...tokens, costUsd, startMicros, endMicros, responseId }
}
