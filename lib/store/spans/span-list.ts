/**
 * Lists spans across a project's traces: the traces newest first, and each trace's spans newest first. No index leads
 * to spans, so pages are found by a bounded walk along the traces (lib/store/walks/bounded-walk.ts).
 *
 * A cursor is a position in the list of traces. If a page ends within a trace, the cursor also names the last span of
 * the page. The next page leaves out that trace's spans down to this span, wherever the trace is by then, because the
 * start of a growing trace may move back.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { parseTimestamp } from '../../trace/timestamp.ts'
import type { Edge, Order } from '../lists/cursor.ts'
import { edgeBelow, TRACE_ORDERS } from '../lists/order.ts'
import { TraceStatement } from '../lists/trace-statement.ts'
import { type WalkBounds, type WalkPortion, walkBounded } from '../walks/bounded-walk.ts'
import { nextTraces } from '../walks/next-traces.ts'
import { type FoundSpan, readListedSpans } from './listed-spans.ts'

/** Filters are exact and combine with AND. `from` and `to` are inclusive bounds of the start of the span's trace. */
export interface SpanFilters {
  readonly kind?: string | undefined
  readonly name?: string | undefined
  readonly status?: string | undefined
  readonly model?: string | undefined
  readonly traceId?: string | undefined
  /** Environment of the trace, in lower case. */
  readonly environment?: string | undefined
  readonly minDurationMs?: number | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface SpanQuery extends SpanFilters {
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

/** A span down to which a trace's spans are left out. */
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
}

/** Lists one page of spans. A page that is short because its walk met a bound has a cursor. `bounds` is for tests. */
export async function listSpans(
  sql: Sql,
  projectId: number,
  query: SpanQuery,
  names: TableNames = SCHEMA_NAMES,
  bounds?: WalkBounds
): Promise<SpanListPage> {
  const { limit, after, to } = query
  const walked = await walkBounded<FoundSpan, Place>({
    from: placeAt(edgeBelow(TRACES, after, to)),
    limit,
    read: (at, size) => readPortion(sql, projectId, query, names, at, size),
    bounds,
    ...(!isFiltered(query) && { first: limit })
  })
  const spans = await readListedSpans(sql, projectId, walked.items, names, query.texts)
  return {
    spans,
    next: walked.next && edgeAt(walked.next),
    reached: walked.isStopped ? walked.reached?.edge.key : undefined
  }
}

const isFiltered = ({ kind, name, status, model, traceId, environment, minDurationMs }: SpanFilters): boolean =>
  [kind, name, status, model, traceId, environment, minDurationMs].some(value => value !== undefined)

function placeAt(edge: Edge): Place {
  const [, traceId, startedAt, spanId] = SPAN_TIE.exec(edge.tie)!
  if (startedAt === undefined) return { edge }
  return {
    edge: { key: edge.key, tie: traceId!, inclusive: true },
    skipped: { traceId: traceId!, startedAt, spanId: spanId! }
  }
}

/** A position within a trace is at that trace; any other position is just behind a trace. */
function edgeAt({ edge, skipped }: Place): Edge {
  if (!edge.inclusive || skipped === undefined) return edge
  return { key: edge.key, tie: `${skipped.traceId}/${skipped.startedAt}/${skipped.spanId}`, inclusive: false }
}

async function readPortion(
  sql: Sql,
  projectId: number,
  query: SpanQuery,
  names: TableNames,
  { edge, skipped }: Place,
  size: number
): Promise<WalkPortion<FoundSpan, Place>> {
  const { limit, from, traceId } = query
  const statement = new TraceStatement(projectId, { sort: 'newest', limit, from }, names)
  const bind = (value: string | number) => statement.bind(value)
  const conditions = traceConditions(query, bind)
  const portion =
    traceId === undefined
      ? nextTraces(statement, { edge, size, conditions })
      : `select 1 as place, seq, id, started_at as key, (true ${conditions.join(' ')}) is true as fits,
          true as is_examined
        from ${names.traces} where ${statement.beyond(true, edge)} and id = ${bind(traceId)}`
  const most = bind(limit + 1)
  const rest =
    skipped === undefined
      ? ''
      : `and (p.id <> ${bind(skipped.traceId)}
          or (s.started_at, s.id) < (${bind(skipped.startedAt)}, ${bind(skipped.spanId)}))`
  const rows = await sql.unsafe<Row[]>(
    `with portion as materialized (${portion}), found as materialized (
      select p.place, p.seq, p.key, p.id as trace_id, s.started_at, s.id
      from portion p cross join lateral (
        select s.started_at, s.id from ${names.spans} s
        where s.project_id = $1 and s.trace_seq = p.seq ${rest} ${spanConditions(query, bind).join(' ')}
        order by s.started_at desc, s.id desc limit ${most}
      ) s
      where p.is_examined and p.fits
      order by p.place, s.started_at desc, s.id desc limit ${most}
    ), last as (
      select key, id from portion where is_examined order by place desc limit 1
    )
    select c.*, l.key as "lastKey", l.id as "lastId", f.seq, f.key as "traceKey", f.trace_id as "traceId",
      f.started_at as "startedAt", f.id
    from (
      select count(*)::int as traces, (count(*) filter (where is_examined))::int as examined from portion
    ) c left join last l on true left join found f on true
    order by f.place, f.started_at desc, f.id desc`,
    statement.values,
    { prepare: false }
  )
  const [{ traces, examined, lastKey, lastId }] = rows as unknown as readonly [Row]
  return {
    found: rows.flatMap(row => (row.seq === null ? [] : [foundAt({ ...row, seq: row.seq })])),
    examined,
    last: lastKey === null || lastId === null ? undefined : { edge: behind(lastKey, lastId), skipped },
    hasMore: traceId === undefined && (traces === size || traces > examined)
  }
}

const behind = (key: string, id: string): Edge => ({ key, tie: id, inclusive: false })

const foundAt = ({ seq, traceKey, traceId, startedAt, id }: Row & { readonly seq: number }) => ({
  item: { seq, traceId, id },
  at: { edge: { key: traceKey, tie: traceId, inclusive: true }, skipped: { traceId, startedAt, spanId: id } }
})

type Bind = (value: string | number) => string

/**
 * Returns conditions on traces, each with a leading `and`. If only failed spans are sought, traces without any are
 * excluded before their spans are read.
 */
function traceConditions({ environment, status }: SpanFilters, bind: Bind): string[] {
  return [
    ...(environment === undefined ? [] : [`and environment = ${bind(environment)}`]),
    ...(status === 'error' ? ['and error_count > 0'] : [])
  ]
}

/** Returns conditions on spans as s, each with a leading `and`. */
function spanConditions({ kind, name, status, model, minDurationMs }: SpanFilters, bind: Bind): string[] {
  const equal = Object.entries({ kind, name, status, model })
  return [
    ...equal.flatMap(([column, value]) => (value === undefined ? [] : [`and s.${column} = ${bind(value)}`])),
    ...(minDurationMs === undefined
      ? []
      : [`and round(extract(epoch from s.ended_at - s.started_at) * 1000)::bigint >= ${bind(minDurationMs)}::bigint`])
  ]
}
