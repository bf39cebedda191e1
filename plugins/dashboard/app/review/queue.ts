/**
 * The queue of a review. A trace is open until the reviewer judges or skips it, or somebody else judges it or is
 * judging it. The trail lists the traces that the reviewer has seen, in order, and `place` is the one shown.
 */
import type { ScoreInputValue } from '../state/score-kinds.ts'

export interface GivenScore {
  readonly scoreId: string
  readonly value: ScoreInputValue
}

export interface ReviewQueue {
  readonly ids: readonly string[]
  readonly trail: readonly string[]
  /** Index in the trail; the trail's length if no trace is shown. */
  readonly place: number
  readonly verdicts: ReadonlyMap<string, GivenScore>
  /** Judged traces, the latest last. */
  readonly judged: readonly string[]
  readonly skipped: ReadonlySet<string>
  /** Traces that others have judged or are judging. */
  readonly others: ReadonlySet<string>
}

export function newQueue(ids: readonly string[]): ReviewQueue {
  return {
    ids: [...new Set(ids)],
    trail: [],
    place: 0,
    verdicts: new Map(),
    judged: [],
    skipped: new Set(),
    others: new Set()
  }
}

export const shownTrace = ({ trail, place }: ReviewQueue): string | undefined => trail[place]

/** Returns the traces that the reviewer has not seen and can still get, in order. */
export function openTraces({ ids, trail, verdicts, skipped, others }: ReviewQueue): string[] {
  const seen = new Set(trail)
  return ids.filter(id => !seen.has(id) && !verdicts.has(id) && !skipped.has(id) && !others.has(id))
}

/** Returns the number of traces that are judged, skipped or taken by others, and the number of all traces. */
export function progressOf({ ids, verdicts, skipped, others }: ReviewQueue): {
  readonly done: number
  readonly total: number
} {
  const done = ids.filter(id => verdicts.has(id) || skipped.has(id) || others.has(id)).length
  return { done, total: ids.length }
}

/** Shows a trace that was leased, after all traces seen so far. */
export function withShown(queue: ReviewQueue, id: string): ReviewQueue {
  const trail = [...queue.trail.filter(each => each !== id), id]
  return { ...queue, trail, place: trail.length - 1 }
}

/** Marks traces as judged, or being judged, by others. */
export function withOthers(queue: ReviewQueue, ids: readonly string[]): ReviewQueue {
  const own = ids.filter(id => !queue.verdicts.has(id))
  return own.length === 0 ? queue : { ...queue, others: new Set([...queue.others, ...own]) }
}

/** Records a verdict and moves on: to the next seen trace, or past the trail's end. */
export function withVerdict(queue: ReviewQueue, id: string, verdict: GivenScore): ReviewQueue {
  const skipped = new Set(queue.skipped)
  skipped.delete(id)
  return forward({
    ...queue,
    verdicts: new Map([...queue.verdicts, [id, verdict]]),
    judged: [...queue.judged.filter(each => each !== id), id],
    skipped
  })
}

/** Moves on without a verdict. A trace that is not judged counts as skipped. */
export function withoutVerdict(queue: ReviewQueue): ReviewQueue {
  const id = shownTrace(queue)
  if (id === undefined) return queue
  return forward(queue.verdicts.has(id) ? queue : { ...queue, skipped: new Set([...queue.skipped, id]) })
}

const forward = (queue: ReviewQueue): ReviewQueue => ({
  ...queue,
  place: Math.min(queue.place + 1, queue.trail.length)
})

export const backward = (queue: ReviewQueue): ReviewQueue => ({ ...queue, place: Math.max(0, queue.place - 1) })

export const lastJudged = ({ judged }: ReviewQueue): string | undefined => judged.at(-1)

/** Removes a trace's verdict and shows the trace again. */
export function withoutLast(queue: ReviewQueue, id: string): ReviewQueue {
  const verdicts = new Map(queue.verdicts)
  verdicts.delete(id)
  const judged = queue.judged.filter(each => each !== id)
  const place = queue.trail.indexOf(id)
  return { ...queue, verdicts, judged, place: place === -1 ? queue.place : place }
}

/** Offers the skipped traces again. */
export function withSkippedAgain(queue: ReviewQueue): ReviewQueue {
  const trail = queue.trail.filter(id => queue.verdicts.has(id))
  return { ...queue, trail, place: trail.length, skipped: new Set() }
}

export interface ReviewSummary {
  readonly judged: number
  readonly skipped: number
  readonly others: number
  /** Number of verdicts per value, most frequent first. */
  readonly counts: readonly { readonly value: ScoreInputValue; readonly count: number }[]
  /** Mean of numbers; undefined if there are none. */
  readonly mean: number | undefined
}

export function reviewSummaryOf({ verdicts, skipped, others }: ReviewQueue): ReviewSummary {
  const counts = new Map<ScoreInputValue, number>()
  for (const { value } of verdicts.values()) counts.set(value, (counts.get(value) ?? 0) + 1)
  const numbers = [...verdicts.values()].flatMap(({ value }) => (typeof value === 'number' ? [value] : []))
  return {
    judged: verdicts.size,
    skipped: skipped.size,
    others: others.size,
    counts: [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count),
    mean: numbers.length === 0 ? undefined : numbers.reduce((sum, each) => sum + each, 0) / numbers.length
  }
}
