/**
 * Searches a project's traces by words, newest first, and applies the list's filters.
 *
 * 1. The index returns candidates: traces that may contain all words. The newest traces (search_terms) come first, then
 *    the segments, newest first, in windows of increasing size, so that a page of results for frequent words reads few
 *    segments.
 * 2. A candidate is read, in list order, as soon as no remaining segment can contain a newer candidate. The list's
 *    filters are applied first, then the texts are searched. The excerpts on the page come from these texts.
 *
 * Every step is bounded. A search that reaches a bound before its page is full reports the position from which the
 * search can continue.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { Slices } from '../../limits/slices.ts'
import { findTraces, readMembers, type SegmentMember, segmentBucketOf } from '../../search/segment.ts'
import { type Excerpt, excerptsIn, type Wanted } from '../../search/wanted.ts'
import type { Edge } from '../lists/cursor.ts'
import { behindEdge, edgeAbove, edgeBelow, TRACE_ORDERS } from '../lists/order.ts'
import type { Bind, TraceQuery } from '../lists/trace-query.ts'
import { TraceStatement } from '../lists/trace-statement.ts'
import { inMs, readSources } from './sources.ts'

export interface SearchBounds {
  /** Maximum number of segments read. */
  readonly segments: number
  /** Maximum number of candidates filtered. */
  readonly candidates: number
  /** Maximum number of traces whose texts are searched. */
  readonly texts: number
  /** Maximum total size of the searched traces, in bytes. */
  readonly bytes: number
  /** Time after which no further candidates are filtered, in milliseconds. */
  readonly ms?: number
}

/** 1024 segments are enough for a million traces. */
export const SEARCH_BOUNDS: SearchBounds = { segments: 1024, candidates: 20_000, texts: 400, bytes: 24 * 1024 * 1024 }
/**
 * Number of segments in the first window, factor by which each window exceeds the previous one, and maximum number of
 * segments per window.
 */
const FIRST_WINDOW = 16
const WINDOW_GROWTH = 4
const MOST_WINDOW = 256
/** Number of candidates that one statement filters. */
const CANDIDATES_AT_ONCE = 1000
const TEXTS_AT_ONCE = { traces: 64, bytes: 4 * 1024 * 1024 }

/** Time spent searching texts before other requests are processed, in milliseconds. */
const LOOK_MS = 5

export interface FoundWords {
  /** Newest first. */
  readonly matches: readonly Match[]
  /** Edge at which the next page begins; undefined on the last page. */
  readonly next: Edge | undefined
  /** Edge at which the previous page ends; undefined on the first page. */
  readonly previous: Edge | undefined
  /** Number of candidates that were filtered. */
  readonly examined: number
  /** Set if the search reached a bound before the page was full: the position from which it can continue. */
  readonly stop: Edge | undefined
}

/**
 * Finds a page of traces that contain all words and phrases, and meet the other conditions as well. `query.sort` must
 * be `newest`.
 */
export async function findWords(
  sql: Sql,
  projectId: number,
  wanted: Wanted,
  query: TraceQuery,
  others?: OtherConditions,
  bounds = SEARCH_BOUNDS
): Promise<FoundWords> {
  const { after, before, limit, from, to } = query
  const order = TRACE_ORDERS.newest
  const down = before === undefined
  const edge = down ? edgeBelow(order, after, to) : edgeAbove(order, before, from)
  const search = new Search({ sql, projectId, wanted, query, edge, down, bounds, ...(others && { others }) })
  const { matches, stop } = await search.run()
  const shown = matches.slice(0, limit)
  const ends = shown.map(({ startedAt, id }): Edge => ({ key: startedAt, tie: id, inclusive: false }))
  const ahead = matches.length > limit ? ends.at(-1) : stop
  const behind = after !== undefined || !down ? (ends[0] ?? behindEdge(edge)) : undefined
  return {
    matches: down ? shown : shown.reverse(),
    next: down ? ahead : behind,
    previous: down ? behind : ahead,
    examined: search.examined,
    stop
  }
}

/**
 * Returns the internal numbers of all traces within the query's times that may contain the words; undefined if there
 * are too many to read.
 */
export async function gatherCandidates(
  sql: Sql,
  projectId: number,
  wanted: Wanted,
  query: TraceQuery,
  bounds = SEARCH_BOUNDS
): Promise<readonly number[] | undefined> {
  const edge = edgeBelow(TRACE_ORDERS.newest, undefined, query.to)
  return new Search({ sql, projectId, wanted, query, edge, down: true, bounds }).gather()
}

/** Searches the texts of these traces. Returns the excerpts of those that contain all words and phrases. */
export async function findExcerpts(
  sql: Sql,
  projectId: number,
  wanted: Wanted,
  seqs: readonly number[]
): Promise<ReadonlyMap<number, readonly Excerpt[]>> {
  const found = new Map<number, readonly Excerpt[]>()
  const slices = new Slices()
  for (const { seq, texts } of await readSources(sql, projectId, seqs)) {
    await slices.next()
    const excerpts = excerptsIn(texts, wanted)
    if (excerpts.length > 0) found.set(seq, excerpts)
  }
  return found
}

/** Returns the edge of the remaining traces after all traces up to and including `ms` have been examined. */
const edgeAtMs = (ms: number, down: boolean): Edge => ({
  key: new Date(down ? ms : ms + 1).toISOString(),
  tie: TRACE_ORDERS.newest.lowestTie,
  inclusive: !down
})

export interface Match {
  readonly seq: number
  readonly id: string
  readonly startedAt: string
  readonly excerpts: readonly Excerpt[]
}

interface SegmentRow {
  readonly segment: number
  readonly newestMs: number
  readonly oldestMs: number
}

interface Asked {
  readonly sql: Sql
  readonly projectId: number
  readonly wanted: Wanted
  readonly query: TraceQuery
  readonly edge: Edge
  readonly down: boolean
  readonly bounds: SearchBounds
  readonly others?: OtherConditions
}

/** Conditions beyond the words and the filters of the list. */
export interface OtherConditions {
  /** Returns conditions on traces as t, each with a leading `and`. */
  readonly inSql: (bind: Bind) => readonly string[]
  /** Returns the traces that meet the conditions on texts. */
  readonly keep?: ((seqs: readonly number[]) => Promise<ReadonlySet<number>>) | undefined
}

class Search {
  readonly #asked: Asked
  /**
   * Candidates that have not been examined yet. A trace whose start has changed may appear twice, with its old and its
   * new start.
   */
  readonly #candidates = new Map<string, SegmentMember>()
  readonly #matches: Match[] = []
  /** All traces before this edge have been examined. */
  #reached: Edge
  readonly #deadline: number
  #candidatesLeft: number
  #textsLeft: number
  #bytesLeft: number

  constructor(asked: Asked) {
    this.#asked = asked
    this.#reached = asked.edge
    this.#deadline = performance.now() + (asked.bounds.ms ?? Number.POSITIVE_INFINITY)
    this.#candidatesLeft = asked.bounds.candidates
    this.#textsLeft = asked.bounds.texts
    this.#bytesLeft = asked.bounds.bytes
  }

  /** Finds at most one match more than the page can hold. Traces beyond `stop` have not been examined. */
  async run(): Promise<{ matches: readonly Match[]; stop: Edge | undefined }> {
    const { down, bounds } = this.#asked
    // Traces move from search_terms to a segment, never back. The search therefore misses no trace if it reads
    // search_terms first.
    this.#addAll(await this.#readTerms())
    const segments = await this.#readSegments()
    let isStopped = false
    for (let at = 0, window = FIRST_WINDOW; ; window = Math.min(window * WINDOW_GROWTH, MOST_WINDOW)) {
      const next = segments[at]
      const horizon = next === undefined ? undefined : down ? next.newestMs : next.oldestMs
      isStopped = await this.#settle(horizon)
      if (isStopped || this.#isFull || horizon === undefined) break
      if (at >= bounds.segments) {
        this.#reached = edgeAtMs(down ? horizon + 1 : horizon - 1, down)
        isStopped = true
        break
      }
      this.#addAll(await this.#readWindow(segments.slice(at, at + window)))
      at += window
    }
    return { matches: this.#matches, stop: isStopped && !this.#isFull ? this.#reached : undefined }
  }

  /** Returns all candidates; undefined if a bound is reached. */
  async gather(): Promise<number[] | undefined> {
    const { bounds } = this.#asked
    this.#addAll(await this.#readTerms())
    const segments = await this.#readSegments()
    if (segments.length > bounds.segments) return undefined
    for (let at = 0; at < segments.length; at += MOST_WINDOW) {
      this.#addAll(await this.#readWindow(segments.slice(at, at + MOST_WINDOW)))
      if (this.#candidates.size > bounds.candidates) return undefined
    }
    return [...new Set(Array.from(this.#candidates.values(), ({ seq }) => seq))]
  }

  /** Number of candidates that were filtered. */
  get examined(): number {
    return this.#asked.bounds.candidates - this.#candidatesLeft
  }

  get #isFull(): boolean {
    return this.#matches.length > this.#asked.query.limit
  }

  #addAll(members: readonly SegmentMember[]): void {
    const { edge, down } = this.#asked
    const edgeMs = msOf(edge.key)
    for (const member of members) {
      if (down ? member.startedMs > edgeMs : member.startedMs < edgeMs) continue
      this.#candidates.set(nameOf(member), member)
    }
  }

  async #readTerms(): Promise<SegmentMember[]> {
    const { sql, projectId, wanted } = this.#asked
    return sql<SegmentMember[]>`
      select seq, ${sql.unsafe(inMs('started_at'))} as "startedMs" from search_terms
      where project_id = ${projectId} and terms @> ${wanted.terms as number[]}::int[]`
  }

  /** Returns the segments with traces beyond the edge and within the time range, nearest first. */
  async #readSegments(): Promise<SegmentRow[]> {
    const { sql, projectId, query, edge, down } = this.#asked
    const { from, to } = query
    const rows = await sql<SegmentRow[]>`
      select segment, ${sql.unsafe(inMs('newest'))} as "newestMs", ${sql.unsafe(inMs('oldest'))} as "oldestMs"
      from search_segments where project_id = ${projectId}`
    const edgeMs = msOf(edge.key)
    const [lowest, highest] = down ? [msOf(from ?? '-infinity'), edgeMs] : [edgeMs, msOf(to ?? 'infinity')]
    return rows
      .filter(({ newestMs, oldestMs }) => newestMs >= lowest && oldestMs <= highest)
      .sort((a, b) => (down ? b.newestMs - a.newestMs : a.oldestMs - b.oldestMs))
  }

  /** Returns these segments' traces that have all terms. */
  async #readWindow(segments: readonly SegmentRow[]): Promise<SegmentMember[]> {
    const found: SegmentMember[] = []
    let left = segments.map(({ segment }) => segment)
    while (left.length > 0) {
      const { members, replaced } = await this.#readFrom(left)
      found.push(...members)
      left = replaced
    }
    return found
  }

  /**
   * Reads the postings of segments, then the members that have the terms. A segment that was replaced between the two
   * statements (lib/store/search/indexing.ts) is returned in `replaced`, because its old postings do not number its new
   * members.
   */
  async #readFrom(numbers: readonly number[]): Promise<{ members: SegmentMember[]; replaced: number[] }> {
    const { sql, projectId, wanted } = this.#asked
    const { terms } = wanted
    const buckets = [...new Set(terms.map(segmentBucketOf))]
    const rows = await sql<{ segment: number; bucket: number; sweptAt: string; postings: string }[]>`
      select p.segment, p.bucket, s.swept_at as "sweptAt", p.postings
      from search_postings p join search_segments s on s.project_id = ${projectId} and s.segment = p.segment
      where p.project_id = ${projectId} and p.segment = any (${numbers as number[]}::bigint[])
        and p.bucket = any (${buckets}::smallint[])`
    const found = new Map<number, { readonly sweptAt: string; readonly buckets: Map<number, Buffer> }>()
    for (const { segment, bucket, sweptAt, postings } of rows) {
      const own = found.get(segment) ?? { sweptAt, buckets: new Map<number, Buffer>() }
      own.buckets.set(bucket, Buffer.from(postings, 'hex'))
      found.set(segment, own)
    }
    const hits = new Map<number, readonly number[]>()
    for (const [segment, own] of found) {
      const places = placesOf(own.buckets, terms)
      if (places.length > 0) hits.set(segment, places)
    }
    if (hits.size === 0) return { members: [], replaced: [] }
    const packed = await sql<{ segment: number; sweptAt: string; members: string }[]>`
      select segment, swept_at as "sweptAt", members from search_segments
      where project_id = ${projectId} and segment = any (${[...hits.keys()]}::bigint[])`
    const members: SegmentMember[] = []
    const replaced: number[] = []
    for (const row of packed) {
      if (row.sweptAt !== found.get(row.segment)!.sweptAt) replaced.push(row.segment)
      else {
        const all = readMembers(Buffer.from(row.members, 'hex'))
        members.push(...hits.get(row.segment)!.map(place => all[place]!))
      }
    }
    return { members, replaced }
  }

  /**
   * Examines the candidates before the horizon, in order, until the page is full. Returns whether a bound was reached.
   */
  async #settle(horizon: number | undefined): Promise<boolean> {
    const { down } = this.#asked
    const isSettled = ({ startedMs }: SegmentMember) =>
      horizon === undefined || (down ? startedMs > horizon : startedMs < horizon)
    const settled = [...this.#candidates.values()]
      .filter(isSettled)
      .sort((a, b) => (down ? b.startedMs - a.startedMs : a.startedMs - b.startedMs))
    for (let at = 0; at < settled.length && !this.#isFull; ) {
      // Something is always examined, so that the next page begins further on.
      const isLate = performance.now() > this.#deadline && this.#candidatesLeft < this.#asked.bounds.candidates
      if (this.#candidatesLeft <= 0 || isLate) return true
      let end = Math.min(at + CANDIDATES_AT_ONCE, settled.length)
      // Candidates of the same millisecond are examined together, because only the database can determine their order.
      while (end < settled.length && settled[end]!.startedMs === settled[end - 1]!.startedMs) end++
      const some = settled.slice(at, end)
      if (await this.#look(some)) return true
      for (const member of some) this.#candidates.delete(nameOf(member))
      this.#candidatesLeft -= some.length
      this.#reached = edgeAtMs(some.at(-1)!.startedMs, down)
      at = end
    }
    return false
  }

  /** Filters candidates, then searches their texts, until the page is full. Returns whether a bound was reached. */
  async #look(candidates: readonly SegmentMember[]): Promise<boolean> {
    const { sql, projectId, wanted, query, edge, down, others } = this.#asked
    const statement = new TraceStatement(projectId, query)
    const seqs = statement.bind(`{${candidates.map(({ seq }) => seq).join(',')}}`)
    const rows = await sql.unsafe<(Omit<Match, 'excerpts'> & SegmentMember & { readonly bytes: number })[]>(
      `select seq, id, estimated_bytes as bytes, started_at as "startedAt", ${inMs('started_at')} as "startedMs"
      from traces t where ${statement.beyond(down, edge)} and seq = any (${seqs}::bigint[]) ${statement.columnFilters().join(' ')}
        ${others?.inSql(value => statement.bind(value)).join(' ') ?? ''}
      ${statement.order(down)}`,
      statement.values,
      { prepare: false }
    )
    // A candidate whose start has changed has a newer entry elsewhere, so this entry is dropped.
    const passed = rows.filter(row => this.#candidates.has(nameOf(row)))
    for (let at = 0; at < passed.length && !this.#isFull; ) {
      if (this.#textsLeft <= 0 || this.#bytesLeft <= 0) return true
      const most = Math.min(TEXTS_AT_ONCE.traces, query.limit + 1 - this.#matches.length)
      const some = firstOf(passed.slice(at, at + most), TEXTS_AT_ONCE.bytes)
      const all = some.map(({ seq }) => seq)
      const kept = others?.keep === undefined ? undefined : await others.keep(all)
      const seqs = kept === undefined ? all : all.filter(seq => kept.has(seq))
      const sources = new Map((await readSources(sql, projectId, seqs)).map(source => [source.seq, source]))
      let began = Number.NEGATIVE_INFINITY
      for (const { seq, id, startedAt } of some) {
        if (performance.now() - began > LOOK_MS) {
          await turn()
          began = performance.now()
        }
        const excerpts = excerptsIn(sources.get(seq)?.texts ?? [], wanted)
        if (excerpts.length > 0) this.#matches.push({ seq, id, startedAt, excerpts })
        this.#reached = { key: startedAt, tie: id, inclusive: false }
      }
      this.#textsLeft -= some.length
      this.#bytesLeft -= some.reduce((sum, { bytes }) => sum + bytes, 0)
      at += some.length
    }
    return false
  }
}

const nameOf = ({ seq, startedMs }: SegmentMember): string => `${seq} ${startedMs}`

/** Returns as many leading items as fit in `most` bytes, but at least one item. */
function firstOf<T extends { readonly bytes: number }>(items: readonly T[], most: number): T[] {
  let bytes = 0
  return items.filter((item, i) => {
    bytes += item.bytes
    return bytes <= most || i === 0
  })
}

/** Returns the positions of the segment's traces that have all terms. */
function placesOf(buckets: ReadonlyMap<number, Buffer>, terms: readonly number[]): number[] {
  let places: number[] | undefined
  for (const term of terms) {
    const bucket = buckets.get(segmentBucketOf(term))
    const members = bucket === undefined ? [] : findTraces(bucket, term)
    if (places === undefined) places = members
    else {
      const own = new Set(members)
      places = places.filter(place => own.has(place))
    }
    if (places.length === 0) return []
  }
  return places ?? []
}

/** Converts a canonical timestamp, or a PostgreSQL infinity, to whole milliseconds. */
function msOf(time: string): number {
  if (time === 'infinity') return Number.POSITIVE_INFINITY
  return time === '-infinity' ? Number.NEGATIVE_INFINITY : Date.parse(time)
}
