/**
 * Finds the traces of a search: by the filters of the list, by conditions that the list does not have, and by words.
 *
 * - Without words, candidates are examined in the order of the page (lib/store/finding/candidates.ts) on a bounded walk
 *   (lib/store/walks/bounded-walk.ts).
 * - With words, newest first, the index of words gives the candidates (lib/store/search/trace-search.ts).
 * - With words and another order, all traces that may contain the words are gathered and sorted, and their texts are
 *   searched in that order.
 *
 * The error of a failed step is known only from its texts, so it is checked last.
 */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import type { Excerpt, Wanted } from '../../search/wanted.ts'
import type { Edge } from '../lists/cursor.ts'
import { behindEdge, edgeAbove, edgeBelow, TRACE_ORDERS } from '../lists/order.ts'
import type { TraceQuery } from '../lists/trace-query.ts'
import { findExcerpts, findWords, gatherCandidates, SEARCH_BOUNDS } from '../search/trace-search.ts'
import { type FoundItem, WALK_BOUNDS, type WalkBounds, type WalkPortion, walkBounded } from '../walks/bounded-walk.ts'
import {
  CANDIDATE_BOUNDS,
  type CandidateBounds,
  type CandidateSearch,
  type CandidateTrace,
  candidateReader,
  keyRange
} from './candidates.ts'
import { conditionsInSql, isUnconditional, type SearchConditions } from './conditions.ts'
import { findFailedStep } from './failed-steps.ts'

export interface TraceSearch {
  /** The filters of the list in any combination, with any sort. */
  readonly query: TraceQuery
  readonly conditions: SearchConditions
  readonly wanted: Wanted | undefined
}

export interface FoundId {
  readonly seq: number
  readonly id: string
  /** Empty if no words are searched. */
  readonly excerpts: readonly Excerpt[]
}

export interface FoundPage {
  /** In the order of the page. */
  readonly found: readonly FoundId[]
  readonly next: Edge | undefined
  /** Edge at which the previous page ends; undefined on the first page. */
  readonly previous: Edge | undefined
  /** Number of traces examined. */
  readonly examined: number
  /** The last position examined, if the search stopped before the page was full. */
  readonly reached: Edge | undefined
}

export interface FindBounds extends CandidateBounds {
  readonly walk: WalkBounds
}
const BOUNDS: FindBounds = { ...CANDIDATE_BOUNDS, walk: WALK_BOUNDS }

/** Bounds of a search by words that checks further conditions on each candidate. */
const CHECKED = { ...SEARCH_BOUNDS, candidates: WALK_BOUNDS.traces, ms: WALK_BOUNDS.ms }

/** Limits on traces whose texts are read at a time. */
const TEXTS_AT_ONCE = { traces: 64, bytes: 4 * 1024 * 1024 }

/**
 * Finds one page. Returns undefined if too many traces may contain the words to sort them by an order other than newest
 * first. `bounds` is for tests.
 */
export async function findTracePage(
  sql: Sql,
  projectId: number,
  search: TraceSearch,
  names: TableNames,
  bounds = BOUNDS
): Promise<FoundPage | undefined> {
  const { query, conditions, wanted } = search
  if (wanted === undefined) return findInOrder({ sql, projectId, names, query, conditions }, bounds)
  if (query.sort === 'newest') return findByWords(sql, projectId, { query, conditions, wanted }, names)
  const seqs = await gatherCandidates(sql, projectId, wanted, query)
  return seqs && findInOrder({ sql, projectId, names, query, conditions, seqs }, bounds, wanted)
}

async function findByWords(
  sql: Sql,
  projectId: number,
  { query, conditions, wanted }: TraceSearch & { readonly wanted: Wanted },
  names: TableNames
): Promise<FoundPage> {
  const keep = failedStepFinder(sql, projectId, conditions, names)
  const others = {
    inSql: (bind: Parameters<typeof conditionsInSql>[1]) => conditionsInSql(conditions, bind, names),
    keep
  }
  const found = await findWords(
    sql,
    projectId,
    wanted,
    query,
    others,
    isUnconditional(conditions) ? SEARCH_BOUNDS : CHECKED
  )
  const { matches, stop, next, previous, examined } = found
  return { found: matches, next, previous, examined, reached: stop }
}

/** Returns a function that finds the traces with a step that meets the conditions on an error, if there are any. */
function failedStepFinder(sql: Sql, projectId: number, { step }: SearchConditions, names: TableNames) {
  const { error } = step ?? {}
  if (error === undefined) return undefined
  return (seqs: readonly number[]) => findFailedStep(sql, projectId, seqs, { ...step, error }, names)
}

/** A found trace with its position in the order. */
type PlacedId = FoundItem<FoundId, Edge>

async function findInOrder(asked: CandidateSearch, bounds: FindBounds, wanted?: Wanted): Promise<FoundPage> {
  const { sql, projectId, names, query, conditions } = asked
  const readCandidates = candidateReader(asked, bounds)
  const hasFailedStep = failedStepFinder(sql, projectId, conditions, names)
  const deadline = performance.now() + bounds.walk.ms
  /** Checks the conditions that only texts can decide. */
  const check = async (some: readonly CandidateTrace[]): Promise<FoundId[]> => {
    const seqs = some.map(({ seq }) => seq)
    const failed = await hasFailedStep?.(seqs)
    const kept = failed === undefined ? seqs : seqs.filter(seq => failed.has(seq))
    const found = wanted && (await findExcerpts(sql, projectId, wanted, kept))
    return some.flatMap(({ seq, id }) => {
      const excerpts = found?.get(seq)
      const isKept = (failed?.has(seq) ?? true) && (found === undefined || excerpts !== undefined)
      return isKept ? [{ seq, id, excerpts: excerpts ?? [] }] : []
    })
  }
  const readsTexts = hasFailedStep !== undefined || wanted !== undefined
  const read = async (edge: Edge, size: number): Promise<WalkPortion<PlacedId, Edge>> => {
    const { candidates, hasMore } = await readCandidates(edge, size)
    const fitting = candidates.filter(({ fits }) => fits)
    const places = new Map(fitting.map(({ id, at }) => [id, at]))
    const placed = (found: readonly FoundId[]) =>
      found.map(item => {
        const at = places.get(item.id)!
        return { item: { item, at }, at }
      })
    const all = { examined: candidates.length, last: candidates.at(-1)?.at, hasMore }
    if (!readsTexts) return { ...all, found: placed(fitting.map(({ seq, id }) => ({ seq, id, excerpts: [] }))) }
    const found: FoundId[] = []
    for (let at = 0; at < fitting.length; ) {
      const some = firstOf(fitting.slice(at, at + TEXTS_AT_ONCE.traces))
      found.push(...(await check(some)))
      at += some.length
      const last = some.at(-1)!
      if (at < fitting.length && (found.length > query.limit || performance.now() > deadline)) {
        return { found: placed(found), examined: candidates.indexOf(last) + 1, last: last.at, hasMore: true }
      }
    }
    return { ...all, found: placed(found) }
  }
  const isListed = isUnconditional(conditions) && wanted === undefined
  const from = startOf(query, conditions)
  const walked = await walkBounded({
    from,
    limit: query.limit,
    read,
    bounds: bounds.walk,
    ...(isListed && { first: query.limit })
  })
  const { items, next: ahead, examined, reached, isStopped } = walked
  const { after, before } = query
  const down = before === undefined
  const behind = after === undefined && down ? undefined : (items[0]?.at ?? behindEdge(from))
  const found = items.map(({ item }) => item)
  return {
    found: down ? found : found.reverse(),
    next: down ? ahead : behind,
    previous: down ? behind : ahead,
    examined,
    reached: isStopped ? reached : undefined
  }
}

/** Returns as many leading candidates as may be read at once, but at least one. */
function firstOf(candidates: readonly CandidateTrace[]): CandidateTrace[] {
  let bytes = 0
  return candidates.filter((candidate, i) => {
    bytes += candidate.bytes
    return bytes <= TEXTS_AT_ONCE.bytes || i === 0
  })
}

/**
 * Returns the edge at which the walk begins: the cursor or, if it lies outside the range of sort keys that may fit, the
 * nearer end of the range.
 */
function startOf(query: TraceQuery, conditions: SearchConditions): Edge {
  const { sort, after, before, from, to } = query
  if (sort === 'newest') {
    const order = TRACE_ORDERS.newest
    return before === undefined ? edgeBelow(order, after, to) : edgeAbove(order, before, from)
  }
  const order = TRACE_ORDERS[sort]
  const { min, max } = keyRange(sort, conditions)
  if (before !== undefined) {
    if (min === undefined || Number(before.key) >= min) return before
    return { key: String(min), tie: order.lowestTie, inclusive: true }
  }
  if (after !== undefined && (max === undefined || Number(after.key) <= max)) return after
  return { key: max === undefined ? order.highestKey : String(max), tie: order.highestTie, inclusive: true }
}
