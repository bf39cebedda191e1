/**
 * Builds SQL for the sums that readers see: rollups plus the amounts still in rollup_news, in one statement and
 * therefore one snapshot. Periods of a few hours with few enough traces are summed from the traces themselves, exact to
 * the minute. The total of a longer period is the sum of its fortnights, the remaining days and the remaining hours.
 */
import type { Sql } from 'postgres'
import { AMOUNTS, type Amount, amountsInSql } from '../../../rollups/amounts.ts'
import { LEVELS, type RollupGroup } from '../../../rollups/levels.ts'
import { FORTNIGHT, hasUtcDays, type Period, type PeriodPiece, piecesOf } from '../../../rollups/period.ts'
import { hashInSql } from '../../../rows/list-numbers.ts'
import type { TraceFilters } from '../../lists/trace-query.ts'
import { equalling } from '../../trace/trace-conditions.ts'
import { environmentKeyInSql } from './deltas.ts'

export type ChartFilters = Pick<TraceFilters, 'status' | 'environment' | 'model' | 'name'>
export type ChartField = keyof ChartFilters

/**
 * Maximum number of traces in a period that is read minute by minute. Periods with more traces are read hour by hour.
 */
const MOST_TRACES = 20_000

/** Whether a period has so few traces that each of them can be read. */
export async function hasFewTraces(sql: Sql, projectId: number, { from, to }: Period, most = MOST_TRACES) {
  const [row] = await sql<[{ traces: number }]>`
    select count(*) as traces from (
      select from traces where project_id = ${projectId} and ${between(sql, 'started_at', from, to)}
      limit ${most + 1}
    ) few`
  return row.traces <= most
}

function between(sql: Sql, column: string, from: number, to: number) {
  const time = sql.unsafe(column)
  return sql`${time} >= to_timestamp(${from / 1000}::float8) and ${time} < to_timestamp(${to / 1000}::float8)`
}

/** Returns the rollup group that has the given fields and the fewest rows. */
function groupOf(fields: readonly ChartField[]): { group: RollupGroup; isOfFamilies: boolean } {
  const isOfFamilies = fields.includes('status') || fields.includes('model')
  if (fields.includes('name')) return { group: isOfFamilies ? 'nameInFamily' : 'nameInEnvironment', isOfFamilies }
  return { group: isOfFamilies ? 'family' : 'environment', isOfFamilies }
}

const amounts = (row: string) => AMOUNTS.map(name => `${row}.${name}`).join(', ')
/** Casts amounts from rollup_news and from traces to the column types of rollups. */
const asBigint = (name: Amount, amount: string) => (name === 'latency' ? amount : `least(${amount}, ${MOST})::bigint`)
const MOST = '9000000000000000000'
const ofDeltas = AMOUNTS.map(name => asBigint(name, `n.${name}`)).join(', ')
const ofTrace = AMOUNTS.map(name => `${asBigint(name, amountsInSql('t', 1)[name])} as ${name}`).join(', ')

export interface SumsAsked {
  readonly period: Period
  readonly filters: ChartFilters
  /** Fields that the caller uses. All other fields of the result may be null. */
  readonly fields?: readonly ChartField[]
  /** Whether to sum over the whole period. If false, each row's `start` lies in the step that the row belongs to. */
  readonly isWhole?: boolean
}

/** Returns SQL for the matching rows: start, name, status, environment, model and amounts. */
export function sumsOf(sql: Sql, projectId: number, { period, filters, fields = [], isWhole = false }: SumsAsked) {
  const { from, to, step } = period
  const families = familiesOf(sql, projectId, filters)
  const { name } = filters
  const named = (row: string) => (name === undefined ? sql`` : sql`and ${sql(row)}.name = ${name}`)
  if (step === 'minute5') {
    return sql`
      select t.started_at as start, t.name, f.status, f.environment, f.model, ${sql.unsafe(ofTrace)}
      from traces t join (${families}) f on f.family = t.family
      where t.project_id = ${projectId} and ${between(sql, 't.started_at', from, to)} and t.ended_at is not null
        ${named('t')}`
  }
  const filtered = (Object.keys(filters) as ChartField[]).filter(field => filters[field] !== undefined)
  const { group, isOfFamilies } = groupOf([...fields, ...filtered])
  const groups = isOfFamilies
    ? sql`select family as number, status, environment, model from (${families}) f`
    : sql`
      select distinct ${sql.unsafe(environmentKeyInSql('environment'))} as number, null as status, environment,
        null as model
      from (${families}) f`
  // The condition on the name's list number limits the index scan to this name's rows.
  const listed =
    name === undefined
      ? sql``
      : sql`and list = ${sql.unsafe(hashInSql('wanted.name', 'g.number'))} and name = wanted.name`
  // `offset 0` makes PostgreSQL use the index to find each group's rows in each piece of the period.
  return sql`
    select r.start, r.name, g.status, g.environment, g.model, ${sql.unsafe(amounts('r'))}
    from (select ${name ?? null}::text as name) wanted
    cross join (${isWhole ? piecesInSql(sql, projectId, piecesOf(period), group) : stepsInSql(sql, period, group)}) p
    cross join (${groups}) g
    cross join lateral (
      select start, name, ${sql.unsafe(AMOUNTS.join(', '))} from rollups
      where project_id = ${projectId} and level = p.level and within = g.number and start >= p.since and start < p.until
        ${listed}
      offset 0
    ) r
    union all
    select n.started_at, n.name, f.status, f.environment, f.model, ${sql.unsafe(ofDeltas)}
    from rollup_news n join (${families}) f on f.family = n.family
    where n.project_id = ${projectId} and ${between(sql, 'n.started_at', from, to)} ${named('n')}`
}

/**
 * Returns SQL for one row (level, since, until): the bounds of the period, and the level from which all of its steps
 * are read. Days in time zones other than UTC are summed from hours.
 */
function stepsInSql(sql: Sql, period: Period, group: RollupGroup) {
  const { from, to } = period
  return sql`
    select ${LEVELS[hasUtcDays(period) ? 'day' : 'hour'][group]}::text::"char" as level,
      to_timestamp(${from / 1000}::float8) as since, to_timestamp(${to / 1000}::float8) as until`
}

/**
 * Returns SQL that lists the pieces of a period, with the level from which each piece is read. Fortnights not yet
 * computed are read from their days.
 */
function piecesInSql(sql: Sql, projectId: number, pieces: readonly PeriodPiece[], group: RollupGroup) {
  const madeLevel = sql.unsafe(`'${LEVELS.fortnight.environment}'`)
  const fortnights = pieces.find(({ length }) => length === 'fortnight') ?? { from: 0, to: 0 }
  return sql`
    select level::"char", to_timestamp(since) as since, to_timestamp(until) as until
    from unnest(${pieces.map(({ length }) => LEVELS[length][group])}::text[],
      ${pieces.map(({ from }) => from / 1000)}::float8[],
      ${pieces.map(({ to }) => to / 1000)}::float8[]) as piece (level, since, until)
    union all
    select ${LEVELS.day[group]}::text::"char", to_timestamp(since), to_timestamp(since + ${FORTNIGHT / 1000}::float8)
    from generate_series(
      ${fortnights.from / 1000}::bigint, ${(fortnights.to - FORTNIGHT) / 1000}::bigint, ${FORTNIGHT / 1000}::bigint
    ) as since
    where not exists (
      select from rollups where project_id = ${projectId} and level = ${madeLevel} and start = to_timestamp(since))`
}

function familiesOf(sql: Sql, projectId: number, { status, environment, model }: ChartFilters) {
  return sql`
    select family, status, environment, model from trace_families
    where project_id = ${projectId} ${equalling(sql, { status, environment, model })}`
}

const MOST_RUNNING = 1000

/** Counts a period's running traces, at most MOST_RUNNING per family. */
export async function countRunning(
  sql: Sql,
  projectId: number,
  { from, to }: Period,
  { status, ...filters }: ChartFilters
): Promise<number> {
  if (status !== undefined && status !== 'running') return 0
  const { name } = filters
  const isFit =
    name === undefined ? sql`t.family = f.family` : sql`t.named_family = hashtextextended(${name}, f.family)`
  const [row] = await sql<[{ running: number }]>`
    select count(*) as running from (${familiesOf(sql, projectId, { ...filters, status: 'running' })}) f
    cross join lateral (
      select from traces t where t.project_id = ${projectId} and ${isFit}
        and ${between(sql, 't.started_at', from, to)} and t.ended_at is null
      limit ${MOST_RUNNING}
    ) going`
  return row.running
}

/** Returns the time from which traces are counted; null if all traces are counted. */
export async function readCountedFrom(sql: Sql, projectId: number): Promise<string | null> {
  const [row] = await sql<{ from: string }[]>`
    select case when isfinite(uncounted) then uncounted else now() end as "from"
    from rollup_history where project_id = ${projectId}`
  return row?.from ?? null
}
