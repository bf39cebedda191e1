/**
 * Reads portions of the traces that a search examines, in the order of the page (lib/store/walks/bounded-walk.ts). An
 * index finds the candidates if possible:
 *
 * 1. A few traces that an index finds by one of the conditions: a session's or a user's, those with a score of a name,
 *    those above a duration or a cost, those of a time range if the order is not by time. All of them are read and
 *    sorted. If there is no other filter, the sums of users tell beforehand that a user has too many.
 * 2. Lists of families, which are merged (lib/store/lists/trace-merge.ts), for filters of the list.
 * 3. Otherwise, the index of all the project's traces in the order of the page. All filters are then checked on each
 *    trace.
 *
 * A candidate's other conditions are evaluated by the statement that reads the portion.
 */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { readTimestamp, readUuid } from '../../database/types.ts'
import { userListInSql } from '../analytics/rollups/users.ts'
import type { Edge } from '../lists/cursor.ts'
import type { Sort } from '../lists/order.ts'
import { type MemberTraces, sortMembers } from '../lists/trace-depth.ts'
import { findPage, LIST_BOUNDS } from '../lists/trace-list.ts'
import { familyFilters, findLists, MOST_FAMILIES, mergeLists } from '../lists/trace-merge.ts'
import type { Bind, FoundTraces, PageSearch, RowsText, TraceQuery } from '../lists/trace-query.ts'
import { FAMILY_FILTERS, SORT_COLUMNS, type TraceStatement } from '../lists/trace-statement.ts'
import { walkTraces } from '../lists/trace-walk.ts'
import { conditionsInSql, isUnconditional, type NumberRange, type SearchConditions } from './conditions.ts'

export interface CandidateTrace {
  readonly seq: number
  readonly id: string
  /** The trace's position in the order. */
  readonly at: Edge
  readonly bytes: number
  /** Whether all conditions that the statement evaluates hold. */
  readonly fits: boolean
}

export interface CandidatePortion {
  /** Examined traces, in order. */
  readonly candidates: readonly CandidateTrace[]
  readonly hasMore: boolean
}

export interface CandidateSearch {
  readonly sql: Sql
  readonly projectId: number
  readonly names: TableNames
  /** Filters of the list, and the order. */
  readonly query: TraceQuery
  readonly conditions: SearchConditions
  /** If set, only these traces are candidates. */
  readonly seqs?: readonly number[] | undefined
}

/** Maximum numbers of traces that are sorted, of scores that are read to find traces, and of spans of a portion. */
export interface CandidateBounds {
  readonly sorted: number
  readonly few: number
  readonly spans: number
}
export const CANDIDATE_BOUNDS: CandidateBounds = { sorted: 50_000, few: 5000, spans: 20_000 }

type Source = (search: PageSearch) => Promise<FoundTraces | undefined>

/** Returns a reader of portions. The reader chooses its index when it reads its first portion. */
export function candidateReader(asked: CandidateSearch, bounds: CandidateBounds = CANDIDATE_BOUNDS) {
  const { sql, projectId, names, query, conditions } = asked
  const { sort } = query
  const range = keyRange(sort, conditions)
  const down = query.before === undefined
  let sources = sourcesOf(asked, bounds)
  return async (edge: Edge, size: number): Promise<CandidatePortion> => {
    const start = { edge, down, isCursor: false, limit: size }
    for (const [i, { source, query: own, filters }] of sources.entries()) {
      const fitting = (bind: Bind, names: TableNames) => [
        ...(filters === undefined ? [] : filtersInSql(filters, bind)),
        ...conditionsInSql(conditions, bind, names)
      ]
      const rowsText = portionText(fitting, sort, size, bounds.spans)
      const found = await source({ sql, projectId, query: own, start, names, rowsText })
      if (found === undefined) continue
      sources = sources.slice(i)
      return portionOf(found.page, sort, down ? { min: range.min } : { max: range.max })
    }
    throw new Error('the last source has no bound')
  }
}

interface PlannedSource {
  readonly source: Source
  readonly query: TraceQuery
  /** Filters that are checked on each trace, because the source does not apply them. */
  readonly filters: TraceQuery | undefined
}

const MERGED = [...FAMILY_FILTERS, 'name', 'tag', 'userId'] as const

function sourcesOf(asked: CandidateSearch, { sorted, few }: CandidateBounds): PlannedSource[] {
  const { query, conditions, seqs } = asked
  const { sort, from, to, sessionId, userId } = query
  const planned: PlannedSource[] = []
  const plan = (source: Source, own = query, filters?: TraceQuery) => planned.push({ source, query: own, filters })
  if (seqs !== undefined) {
    plan(search => sortMembers(search, seqs.length, statement => ofSeqs(statement, seqs, query)))
    return planned
  }
  const isMerged = sessionId === undefined && MERGED.some(name => query[name] !== undefined)
  // Lists of families do not distinguish runs, so runs are checked with the other conditions.
  const { runsOnly: _, ...unrun } = query
  const isNewest = sort === 'newest'
  const isOwn = sessionId !== undefined || userId !== undefined
  const isRange = from !== undefined || to !== undefined
  // Pages without other conditions are found as the trace list finds them.
  if (isUnconditional(conditions) && (isNewest || (!isOwn && !isRange))) {
    plan(search => findPage(search, LIST_BOUNDS))
    return planned
  }
  if (!isNewest && sessionId !== undefined) {
    plan(search => sortMembers(search, sorted, (statement, bound) => ofIndex(statement, bound, query)))
  }
  const [score] = conditions.scores
  if (score !== undefined && !isOwn) {
    plan(search => sortMembers(search, few, (statement, bound) => ofScore(statement, bound, score.name, query)))
  }
  for (const [column, { min }] of [
    ['duration_ms', conditions.durationMs],
    ['cost_usd', conditions.costUsd]
  ] as const) {
    if (min !== undefined && min > 0 && !isOwn && SORT_COLUMNS[sort] !== column) {
      plan(search => sortMembers(search, few, (statement, bound) => above(statement, bound, column, min, query)))
    }
  }
  if (!isNewest && sessionId === undefined && (isOwn || isRange)) {
    const members = isMerged ? ofLists : ofIndex
    const sortAll = (search: PageSearch) =>
      sortMembers(search, sorted, (statement, bound) => members(statement, bound, unrun))
    const isOfUser = MERGED.every(name => (query[name] !== undefined) === (name === 'userId'))
    const sortFew = async (search: PageSearch) => ((await hasMoreTraces(search, sorted)) ? undefined : sortAll(search))
    plan(isOfUser ? sortFew : sortAll, unrun, query)
  } else if (isMerged) {
    plan(search => mergeLists(search, isNewest ? MOST_FAMILIES : ALL_FAMILIES), unrun, query)
    if (!isNewest) {
      plan(search => sortMembers(search, few, (statement, bound) => ofLists(statement, bound, unrun)), unrun, query)
    }
  }
  const isOfSession = isNewest && sessionId !== undefined
  const bare: TraceQuery = isOfSession
    ? query
    : { sort, limit: query.limit, ...(isNewest && { from, to, runsOnly: query.runsOnly }) }
  plan(walkTraces, bare, isOfSession ? undefined : query)
  return planned
}

/**
 * Returns whether the sums of the query's user count more than `most` traces on whole days within the query's times.
 * The sums include a trace some seconds after its end.
 */
async function hasMoreTraces({ sql, projectId, names, query }: PageSearch, most: number): Promise<boolean> {
  const { userId = '', from = '-infinity', to = 'infinity' } = query
  const [row] = await sql.unsafe<[{ hasMore: boolean }]>(
    `select coalesce(sum(u.traces), 0) > $3::int as "hasMore"
    from (select distinct environment from ${names.trace_families} where project_id = $1::int) e
    cross join lateral (
      select traces from ${names.user_sums}
      where project_id = $1::int and list = ${userListInSql('$2::text', 'e.environment')}
        and start >= $4::timestamptz and start <= $5::timestamptz - interval '1 day' offset 0
    ) u`,
    [projectId, userId, most, from, to],
    { prepare: true }
  )
  return row.hasMore
}

/** A limit above the number of families of any project. */
const ALL_FAMILIES = 2 ** 31 - 2

/** Returns the traces with these internal numbers. */
function ofSeqs(statement: TraceStatement, seqs: readonly number[], query: TraceQuery): MemberTraces {
  return {
    members: `members as materialized (
      select ${statement.column} as key, id, (true ${statement.hasKey} ${statement.columnFilters().join(' ')}
        ${within(statement, query)}) is true as fits
      from ${statement.names.traces}
      where project_id = $1 and seq = any (${statement.bind(`{${seqs.join(',')}}`)}::bigint[]) order by seq
    )`,
    fits: 'fits',
    row: rowById(statement),
    prepare: false
  }
}

/** Returns a session's traces, or the project's traces, within the query's times. */
function ofIndex(statement: TraceStatement, bound: string, query: TraceQuery): MemberTraces {
  const { sessionId } = query
  const session = sessionId === undefined ? '' : `and session_id = ${statement.bind(sessionId)}`
  return {
    members: `members as materialized (
      select ${statement.column} as key, id,
        (true ${statement.hasKey} ${statement.columnFilters().join(' ')}) is true as fits
      from ${statement.names.traces} where project_id = $1 ${session} ${within(statement, query)}
      order by started_at desc, id desc limit ${bound} + 1
    )`,
    fits: 'fits',
    row: rowById(statement),
    prepare: false
  }
}

/** Returns the traces of the lists that the query's filters match, within its times. */
function ofLists(statement: TraceStatement, bound: string, query: TraceQuery): MemberTraces {
  const { list, members } = findLists(statement, query)
  return {
    members: `lists as materialized (
      select ${list} as list from ${statement.names.trace_families}
      where project_id = $1 ${familyFilters(statement, query)}
    ), members as materialized (
      select m.key, m.id from lists
      cross join lateral (${members('lists.list', `${bound} + 1`, within(statement, query))}) m limit ${bound} + 1
    )`,
    fits: 'key is not null',
    row: rowById(statement),
    prepare: false
  }
}

/** Returns the traces with one of the project's newest scores of this name. */
function ofScore(statement: TraceStatement, bound: string, name: string, query: TraceQuery): MemberTraces {
  const { traces, scores } = statement.names
  return {
    members: `scored as materialized (
      select trace_seq from ${scores} where project_id = $1 and name = ${statement.bind(name)}
      order by created_at desc, seq desc limit ${bound} + 1
    ), members as materialized (
      select t.key, t.id, t.fits from (select distinct trace_seq from scored) s cross join lateral (
        select ${statement.column} as key, id, (true ${statement.hasKey} ${statement.columnFilters().join(' ')}
          ${within(statement, query)}) is true as fits
        from ${traces} where project_id = $1 and seq >= s.trace_seq and seq <= s.trace_seq order by seq limit 1
      ) t
      where (select count(*) from scored) <= ${bound}
    )`,
    count: '(select count(*) from scored)',
    fits: 'fits',
    row: rowById(statement),
    prepare: false
  }
}

type Measure = 'duration_ms' | 'cost_usd'

/** Returns the traces with at least this duration or cost. */
function above(
  statement: TraceStatement,
  bound: string,
  column: Measure,
  min: number,
  query: TraceQuery
): MemberTraces {
  return {
    members: `members as materialized (
      select ${statement.column} as key, id, (true ${statement.hasKey} ${statement.columnFilters().join(' ')}
        ${within(statement, query)}) is true as fits
      from ${statement.names.traces}
      where project_id = $1 and ${column} is not null and ${column} >= ${statement.bind(min)}
      order by ${column} desc, id desc limit ${bound} + 1
    )`,
    fits: 'fits',
    row: rowById(statement),
    prepare: false
  }
}

const rowById = ({ names }: TraceStatement) =>
  `select * from ${names.traces} where project_id = $1 and id = m.id limit 1`

/** Returns the conditions that `from` and `to` express, each with a leading `and`. */
function within(statement: TraceStatement, { from, to }: TraceQuery): string {
  return [
    ...(from === undefined ? [] : [`and started_at >= ${statement.bind(from)}`]),
    ...(to === undefined ? [] : [`and started_at <= ${statement.bind(to)}`])
  ].join(' ')
}

/** One row of a portion's text; `fits` is null if the trace was not examined. */
type Row = readonly [seq: number, uuid: string, key: string, bytes: number, fits: boolean | null]

/**
 * Returns an expression for a portion's rows as JSON: at most `size` traces that are examined, and one more if more
 * follow. Traces whose spans would exceed the bound are left to the next portion.
 */
function portionText(fitting: (bind: Bind, names: TableNames) => string[], sort: Sort, size: number, spans: number) {
  const text: RowsText = (rows, bind, names) => {
    const conditions = fitting(bind, names)
    const fits = conditions.length === 0 ? 'true' : `(true ${conditions.join(' ')}) is true`
    return `(select json_agg(json_build_array(t.seq, t.id, t.key, t.estimated_bytes,
        case when t.place <= ${bind(size)} and (t.place = 1 or t.spans <= ${bind(spans)}) then ${fits} end
      ) order by t.place)::text
      from (
        select t.*, ${SORT_COLUMNS[sort]}::text as key, row_number() over () as place,
          sum(span_count) over (rows between unbounded preceding and current row) as spans
        from ${rows} t
      ) t)`
  }
  return text
}

/** Builds a portion. The walk is over once it has passed the end of the range of sort keys. */
function portionOf(page: string | null, sort: Sort, { min, max }: NumberRange): CandidatePortion {
  const rows: readonly Row[] = page === null ? [] : JSON.parse(page)
  const candidates: CandidateTrace[] = []
  for (const [seq, uuid, key, bytes, fits] of rows) {
    if (fits === null) break
    const id = readUuid(uuid)
    candidates.push({ seq, id, bytes, fits, at: { key: keyOf(sort, key), tie: id, inclusive: false } })
  }
  const last = candidates.at(-1)
  const isPast = (key: number) => (min !== undefined && key < min) || (max !== undefined && key > max)
  const isOver = last !== undefined && isPast(Number(last.at.key))
  return { candidates, hasMore: candidates.length < rows.length && !isOver }
}

/** Returns a cursor's key for a column's text. */
function keyOf(sort: Sort, text: string): string {
  if (sort === 'newest') return readTimestamp(text)
  // PostgreSQL's shortest notation of a double may differ from JavaScript's for the same number.
  return sort === 'costliest' ? String(Number(text)) : text
}

/** Returns the filters of the list as conditions on a trace's row as t, each with a leading `and`. */
function filtersInSql(query: TraceQuery, bind: Bind): string[] {
  const { status, environment, model, name, tag, sessionId, userId, runsOnly, from, to } = query
  const equal = { status, environment, model, name, session_id: sessionId, user_id: userId }
  return [
    ...Object.entries(equal).flatMap(([column, value]) =>
      value === undefined ? [] : [`and t.${column} = ${bind(value)}`]
    ),
    ...(from === undefined ? [] : [`and t.started_at >= ${bind(from)}`]),
    ...(to === undefined ? [] : [`and t.started_at <= ${bind(to)}`]),
    ...(tag === undefined ? [] : [`and t.tags @> array[${bind(tag)}]::text[]`]),
    ...(runsOnly ? ['and t.is_run is true'] : [])
  ]
}

/** Returns the condition's range of the sort key. */
export function keyRange(sort: Sort, { durationMs, costUsd }: SearchConditions): NumberRange {
  if (sort === 'newest') return {}
  return sort === 'slowest' ? durationMs : costUsd
}
