/**
 * Lists spans across a project's traces: the traces newest first, and each trace's spans newest first. No index finds
 * spans, so pages are found by a bounded walk along the traces (lib/store/walks/bounded-walk.ts).
 *
 * A cursor is a position in the list of traces. If a page ends within a trace, the cursor also names the last span of
 * the page. The next page leaves out that trace's spans down to this span, wherever the trace is by then, because the
 * start of a growing trace may move back.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { parseTimestamp } from '../../trace/timestamp.ts'
import { portionReader, type TracePortion, type WalkedTraces } from '../finding/trace-portions.ts'
import type { Edge, Order } from '../lists/cursor.ts'
import { edgeBelow, TRACE_ORDERS } from '../lists/order.ts'
import { TraceStatement } from '../lists/trace-statement.ts'
import { type WalkBounds, type WalkPortion, walkBounded } from '../walks/bounded-walk.ts'
import { type FoundSpan, readListedSpans } from './listed-spans.ts'

/** Filters are exact and combine with AND. */
export interface SpanFilters {
  readonly kind?: string | undefined
  readonly name?: string | undefined
  readonly status?: string | undefined
  readonly model?: string | undefined
  readonly traceId?: string | undefined
  readonly minDurationMs?: number | undefined
  /** Whether the cost must be unknown. */
  readonly withoutCost?: true | undefined
  /** Filters of the span's trace. */
  readonly trace: WalkedTraces
}

export interface SpanQuery extends SpanFilters {
  /** Newest by default. */
  readonly sort?: 'newest' | 'slowest' | undefined
  readonly limit: number
  readonly after?: Edge | undefined
  /** Whether spans are shown with their texts rather than only with their sizes. */
  readonly texts: boolean
}

export interface SpanListPage {
  /** Spans, as a JSON array string. */
  readonly spans: string
  readonly next: Edge | undefined
  /**
   * Start of the last examined trace, if the walk was stopped before the page was full; null if no trace was examined.
   * Undefined if the page is full or the last one.
   */
  readonly reached: string | undefined
}

const TRACES = TRACE_ORDERS.newest
const SPAN_TIE = /^([0-9a-f]{32})(?:\/([^/]+)\/([0-9a-f]{16}))?$/

/** Order of the span list. The key is the start of a trace. The tie is the trace's id, and a span within the trace. */
export const SPAN_ORDER: Order = {
  name: 'spans',
  isKey: TRACES.isKey,
  isTie(text) {
    const [, , startedAt] = SPAN_TIE.exec(text) ?? []
    return SPAN_TIE.test(text) && (startedAt === undefined || parseTimestamp(startedAt) === startedAt)
  }
}

/**
 * Order of the slowest spans. The key and tie are those of a trace: a page has the slowest spans of the traces that it
 * examines, and the next page those of older traces.
 */
export const SLOWEST_ORDER: Order = { ...TRACES, name: 'spans:slowest' }

/** Limits on the work for a page of the slowest spans. */
const SLOWEST_BOUNDS: WalkBounds = { traces: 50_000, ms: 1000 }

/** The last span to skip. Spans that precede it in its trace's list are skipped too. */
interface Skipped {
  readonly traceId: string
  readonly startedAt: string
  readonly spanId: string
}

interface Place {
  readonly edge: Edge
  readonly skipped?: Skipped | undefined
}

interface Row {
  readonly traces: number
  readonly examined: number
  readonly lastKey: string | null
  readonly lastId: string | null
  /** Null in the only row of a portion without spans. */
  readonly seq: number | null
  readonly traceKey: string
  readonly traceId: string
  readonly startedAt: string
  readonly id: string
  readonly micros: number
}

/**
 * Lists one page of spans. A page that is short because its walk reached a bound has a cursor. `bounds` is for tests.
 */
export async function listSpans(
  sql: Sql,
  projectId: number,
  query: SpanQuery,
  names: TableNames = SCHEMA_NAMES,
  bounds?: WalkBounds
): Promise<SpanListPage> {
  const { trace, status, sort, texts } = query
  const portions = portionReader(sql, projectId, { filters: trace, isFailing: status === 'error' }, names)
  const list: SpanWalk = { sql, projectId, query, names, portions, bounds }
  const { found, ...page } = await (sort === 'slowest' ? findSlowest(list) : findNewest(list))
  return { ...page, spans: await readListedSpans(sql, projectId, found, names, texts) }
}

interface SpanWalk {
  readonly sql: Sql
  readonly projectId: number
  readonly query: SpanQuery
  readonly names: TableNames
  readonly portions: ReturnType<typeof portionReader>
  readonly bounds: WalkBounds | undefined
}

type FoundPage = Omit<SpanListPage, 'spans'> & { readonly found: readonly FoundSpan[] }

async function findNewest(list: SpanWalk): Promise<FoundPage> {
  const { limit, after, trace } = list.query
  const walked = await walkBounded<FoundSpan, Place>({
    from: placeAt(edgeBelow(TRACES, after, trace.to)),
    limit,
    async read(at, size) {
      const { rows, last, ...portion } = await readPortion(list, at, size, limit + 1)
      return { ...portion, found: rows.map(foundAt), last: last && { edge: last, skipped: at.skipped } }
    },
    bounds: list.bounds,
    ...(!isFiltered(list.query) && { first: limit })
  })
  return {
    found: walked.items,
    next: walked.next && edgeAt(walked.next),
    reached: walked.isStopped ? walked.reached?.edge.key : undefined
  }
}

async function findSlowest(list: SpanWalk): Promise<FoundPage> {
  const { limit, after, trace } = list.query
  let found: readonly FoundRow[] = []
  const walked = await walkBounded<never, Edge>({
    from: edgeBelow(TRACES, after, trace.to),
    limit: 1,
    async read(edge, size) {
      const { rows, ...portion } = await readPortion(list, { edge }, size, limit)
      // Equally slow spans of older traces follow, because the sort is stable.
      found = [...found, ...rows].sort((a, b) => b.micros - a.micros).slice(0, limit)
      return { ...portion, found: [] }
    },
    bounds: list.bounds ?? SLOWEST_BOUNDS
  })
  return {
    found: found.map(({ seq, traceId, id }) => ({ seq, traceId, id })),
    next: walked.next,
    reached: walked.isStopped ? walked.reached?.key : undefined
  }
}

function isFiltered({ kind, name, status, model, traceId, minDurationMs, withoutCost, trace }: SpanFilters): boolean {
  const { from, to, ...ofTrace } = trace
  return [kind, name, status, model, traceId, minDurationMs, withoutCost, ...Object.values(ofTrace)].some(
    value => value !== undefined
  )
}

function placeAt(edge: Edge): Place {
  const [, traceId, startedAt, spanId] = SPAN_TIE.exec(edge.tie)!
  if (startedAt === undefined) return { edge }
  return {
    edge: { key: edge.key, tie: traceId!, inclusive: true },
    skipped: { traceId: traceId!, startedAt, spanId: spanId! }
  }
}

/** A position within a trace is at that trace; any other position is just after a trace. */
function edgeAt({ edge, skipped }: Place): Edge {
  if (!edge.inclusive || skipped === undefined) return edge
  return { key: edge.key, tie: `${skipped.traceId}/${skipped.startedAt}/${skipped.spanId}`, inclusive: false }
}

type FoundRow = Row & { readonly seq: number }

interface SpanPortion extends Omit<WalkPortion<never, Edge>, 'found'> {
  readonly rows: readonly FoundRow[]
}

const IN_TRACE = { newest: 's.started_at desc, s.id desc', slowest: 's.micros desc, s.started_at desc, s.id desc' }

/** Reads at most `most` spans of the next traces: the newest, or the slowest. */
async function readPortion(list: SpanWalk, place: Place, size: number, most: number): Promise<SpanPortion> {
  const { sql, projectId, query, names } = list
  const { edge, skipped } = place
  const { traceId, sort = 'newest' } = query
  const portion =
    traceId === undefined ? await list.portions(edge, size) : oneTrace(projectId, query, names, edge, traceId)
  const { statement } = portion
  const bind = (value: string | number) => statement.bind(value)
  const limit = bind(most)
  const rest =
    skipped === undefined
      ? ''
      : `and (p.id <> ${bind(skipped.traceId)}
          or (s.started_at, s.id) < (${bind(skipped.startedAt)}, ${bind(skipped.spanId)}))`
  const orderBy = (place: string) => `${sort === 'newest' ? '' : 's.micros desc, '}${place}, ${IN_TRACE.newest}`
  const rows = await sql.unsafe<Row[]>(
    `with portion as materialized (${portion.text}), found as materialized (
      select p.place, p.seq, p.key, p.id as trace_id, s.started_at, s.id, s.micros
      from portion p cross join lateral (
        select s.* from (
          select s.*, (extract(epoch from s.ended_at - s.started_at) * 1000000)::float8 as micros from ${names.spans} s
          where s.project_id = $1 and s.trace_seq = p.seq ${rest} ${spanConditions(query, bind).join(' ')}
        ) s order by ${IN_TRACE[sort]} limit ${limit}
      ) s
      where p.is_examined and p.fits
      order by ${orderBy('p.place')} limit ${limit}
    ), last as (
      select key, id from portion where is_examined order by place desc limit 1
    )
    select c.*, l.key as "lastKey", l.id as "lastId", s.seq, s.key as "traceKey", s.trace_id as "traceId",
      s.started_at as "startedAt", s.id, s.micros
    from (
      select count(*)::int as traces, (count(*) filter (where is_examined))::int as examined from portion
    ) c left join last l on true left join found s on true
    order by ${orderBy('s.place')}`,
    statement.values,
    { prepare: false }
  )
  const [{ traces, examined, lastKey, lastId }] = rows as unknown as readonly [Row]
  return {
    rows: rows.flatMap(row => (row.seq === null ? [] : [{ ...row, seq: row.seq }])),
    examined,
    last: lastKey === null || lastId === null ? undefined : { key: lastKey, tie: lastId, inclusive: false },
    hasMore: portion.hasMore(traces, examined)
  }
}

const foundAt = ({ seq, traceKey, traceId, startedAt, id }: FoundRow) => ({
  item: { seq, traceId, id },
  at: { edge: { key: traceKey, tie: traceId, inclusive: true }, skipped: { traceId, startedAt, spanId: id } }
})

type Bind = (value: string | number) => string

/** Returns a portion of the trace with this id, if it lies beyond the edge and the filters apply. */
function oneTrace(projectId: number, { trace }: SpanFilters, names: TableNames, edge: Edge, id: string): TracePortion {
  const statement = new TraceStatement(projectId, { sort: 'newest', limit: 1, ...trace }, names)
  const text = `select 1 as place, seq, id, started_at as key,
      (true ${statement.columnFilters().join(' ')}) is true as fits,
      true as is_examined
    from ${names.traces} where ${statement.beyond(true, edge)} and id = ${statement.bind(id)}`
  return { text, statement, hasMore: () => false }
}

/** Returns conditions on spans as s, each with a leading `and`. */
function spanConditions({ kind, name, status, model, minDurationMs, withoutCost }: SpanFilters, bind: Bind): string[] {
  const equal = Object.entries({ kind, name, status, model })
  return [
    ...equal.flatMap(([column, value]) => (value === undefined ? [] : [`and s.${column} = ${bind(value)}`])),
    ...(minDurationMs === undefined
      ? []
      : [`and round(extract(epoch from s.ended_at - s.started_at) * 1000)::bigint >= ${bind(minDurationMs)}::bigint`]),
    ...(withoutCost === undefined ? [] : ['and s.cost_usd is null'])
  ]
}
