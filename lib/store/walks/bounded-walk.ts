/**
 * Finds the items of a page if no index supports the query: a walk examines traces one after another, in the order of a
 * list, and keeps the items that match. A walk is bounded, so that a filter that few traces match costs no more than
 * any other. If the bound is reached first, the page is short or empty, and `next` says where to continue.
 *
 * The walk reads the traces in portions. A portion is one statement that examines the next traces and returns the items
 * that match. The first portion is small, because the first traces often fill the page. Later portions grow, but only
 * as far as the remaining time allows, judging by the previous portion.
 *
 * A position (`P`) is a place in the order, such as a cursor's Edge, after which a walk continues. An item has its own
 * position, so several items may come from one trace, and the next page may begin between them.
 */

/** Limits on the work for one page. A portion that has begun is finished. */
export interface WalkBounds {
  readonly traces: number
  readonly ms: number
}
export const WALK_BOUNDS: WalkBounds = { traces: 5000, ms: 300 }

/** Sizes of the first and of the largest portion, and the factor by which portions grow. */
const SIZES = { first: 250, most: 2000, growth: 4 }

export interface FoundItem<T, P> {
  readonly item: T
  /** The position just after the item. */
  readonly at: P
}

/** The result of one statement. */
export interface WalkPortion<T, P> {
  /** The items that match, in the order of the walk. */
  readonly found: readonly FoundItem<T, P>[]
  /** Number of traces examined, at most the number requested. It may be lower, even if more traces follow. */
  readonly examined: number
  /** The position just after the last examined trace; undefined if the portion has examined none. */
  readonly last: P | undefined
  /** Whether traces follow the last examined trace. */
  readonly hasMore: boolean
}

export interface Walk<T, P> {
  /** Position at which the page begins. */
  readonly from: P
  /** Maximum number of items on the page. */
  readonly limit: number
  /** Examines at most `size` traces after `at`. */
  readonly read: (at: P, size: number) => Promise<WalkPortion<T, P>>
  readonly bounds?: WalkBounds | undefined
  /** Number of traces in the first portion. */
  readonly first?: number | undefined
  /** Returns the time in milliseconds. */
  readonly now?: () => number
}

export interface Walked<T, P> {
  readonly items: readonly T[]
  /** Position at which the next page begins; undefined if nothing follows. */
  readonly next: P | undefined
  /** Number of traces examined. */
  readonly examined: number
  /** The position just after the last examined trace; undefined if there was none. */
  readonly reached: P | undefined
  /** Whether the walk reached a bound before the page was full. Traces after `next` may then match as well. */
  readonly isStopped: boolean
}

/** Walks until the page is full, the traces end, or a bound is reached. At least one portion is read. */
export async function walkBounded<T, P>(walk: Walk<T, P>): Promise<Walked<T, P>> {
  const { from, limit, read, bounds = WALK_BOUNDS, first = SIZES.first, now = () => performance.now() } = walk
  const began = now()
  const found: FoundItem<T, P>[] = []
  let at = from
  let reached: P | undefined
  let examined = 0
  for (let size = Math.min(first, bounds.traces); ; ) {
    const portionBegan = now()
    const portion = await read(at, size)
    found.push(...portion.found)
    examined += portion.examined
    reached = portion.last ?? reached
    const items = found.slice(0, limit).map(({ item }) => item)
    if (found.length > limit) return { items, next: found[limit - 1]!.at, examined, reached, isStopped: false }
    if (!portion.hasMore || portion.last === undefined) {
      return { items, next: undefined, examined, reached, isStopped: false }
    }
    at = portion.last
    if (items.length === limit) return { items, next: at, examined, reached, isStopped: false }
    const ended = now()
    const msLeft = bounds.ms - (ended - began)
    const msEach = (ended - portionBegan) / Math.max(portion.examined, 1)
    const affordable = msEach === 0 ? SIZES.most : Math.floor(msLeft / msEach)
    size = Math.min(size * SIZES.growth, SIZES.most, bounds.traces - examined, affordable)
    if (msLeft <= 0 || size < 1) return { items, next: at, examined, reached, isStopped: true }
  }
}
