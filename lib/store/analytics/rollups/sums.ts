/**
 * What readers add up: rollups and the news that are not in them yet, in one statement, so in one snapshot. Of a few hours the
 * traces themselves are read, which is exact to the minute, if they are not too many.
 */
import type { Sql } from 'postgres'
import { AMOUNTS, type Amount, amountsInSql } from '../../../rollups/amounts.ts'
import type { Period } from '../../../rollups/period.ts'
import { placeInSql } from './places.ts'

export interface ChartFilters {
  readonly status?: string | undefined
  /** As it is stored. */
  readonly environment?: string | undefined
  readonly model?: string | undefined
  readonly name?: string | undefined
}
export type Field = keyof ChartFilters

/** A period by minutes has so many traces at most; what has more is read by the hour. */
const MOST_TRACES = 20_000

/** Whether a period has few enough traces to read each. */
export async function hasFewTraces(
  sql: Sql,
  projectId: number,
  { from, to }: Period,
  most = MOST_TRACES
): Promise<boolean> {
  const [row] = await sql<[{ traces: number }]>`
    select count(*) as traces from (
      select from traces where project_id = ${projectId} and ${within(sql, 'started_at', from, to)}
      limit ${most + 1}
    ) few`
  return row.traces <= most
}

function within(sql: Sql, column: string, from: number, to: number) {
  const time = sql.unsafe(column)
  return sql`${time} >= to_timestamp(${from / 1000}::float8) and ${time} < to_timestamp(${to / 1000}::float8)`
}

/** The level with the fewest rows that has these fields (lib/store/analytics/rollups/fold.ts), and whether its rows are of families. */
function levelOf({ step }: Period, fields: readonly Field[]) {
  const isOfFamilies = fields.includes('status') || fields.includes('model')
  const isOfNames = fields.includes('name')
  const level = isOfNames ? (isOfFamilies ? 'k' : 'n') : isOfFamilies ? 'f' : 'e'
  return { level: step === 'day' ? level.toUpperCase() : level, isOfFamilies }
}

const amounts = (row: string) => AMOUNTS.map(name => `${row}.${name}`).join(', ')
/** Of news and of traces they are numeric, and are read as what rollups have. */
const asBigint = (name: Amount, amount: string) => (name === 'latency' ? amount : `least(${amount}, ${MOST})::bigint`)
const MOST = '9000000000000000000'
const ofNews = AMOUNTS.map(name => asBigint(name, `n.${name}`)).join(', ')
const ofTrace = AMOUNTS.map(name => `${asBigint(name, amountsInSql('t', 1)[name])} as ${name}`).join(', ')

/**
 * SQL of rows of what fits: start, name, status, environment, model and amounts. `fields` are those of these four that the
 * statement looks at; the others may be null.
 */
export function sumsOf(
  sql: Sql,
  projectId: number,
  period: Period,
  filters: ChartFilters,
  fields: readonly Field[] = []
) {
  const { from, to, step } = period
  const families = familiesOf(sql, projectId, filters)
  const named = (row: string) => (filters.name === undefined ? sql`` : sql`and ${sql(row)}.name = ${filters.name}`)
  if (step === 'minute5') {
    return sql`
      select t.started_at as start, t.name, f.status, f.environment, f.model, ${sql.unsafe(ofTrace)}
      from traces t join (${families}) f on f.family = t.family
      where t.project_id = ${projectId} and ${within(sql, 't.started_at', from, to)} and t.ended_at is not null
        ${named('t')}`
  }
  const filtered = (Object.keys(filters) as Field[]).filter(field => filters[field] !== undefined)
  const { level, isOfFamilies } = levelOf(period, [...fields, ...filtered])
  const groups = isOfFamilies
    ? sql`select family as number, status, environment, model from (${families}) f`
    : sql`
      select distinct ${sql.unsafe(placeInSql('environment'))} as number, null as status, environment, null as model
      from (${families}) f`
  return sql`
    select r.start, r.name, f.status, f.environment, f.model, ${sql.unsafe(amounts('r'))}
    from rollups r join (${groups}) f on f.number = r.within
    where r.project_id = ${projectId} and r.level = ${level}::text::"char" and ${within(sql, 'r.start', from, to)}
      ${named('r')}
    union all
    select n.started_at, n.name, f.status, f.environment, f.model, ${sql.unsafe(ofNews)}
    from rollup_news n join (${families}) f on f.family = n.family
    where n.project_id = ${projectId} and ${within(sql, 'n.started_at', from, to)} ${named('n')}`
}

/** SQL of the families that fit. */
function familiesOf(sql: Sql, projectId: number, { status, environment, model }: ChartFilters) {
  return sql`
    select family, status, environment, model from trace_families where project_id = ${projectId}
      ${status === undefined ? sql`` : sql`and status = ${status}`}
      ${environment === undefined ? sql`` : sql`and environment = ${environment}`}
      ${model === undefined ? sql`` : sql`and model = ${model}`}`
}

/** Counting the running traces stops at this number of each family. */
const MOST_RUNNING = 1000

/** The running traces of a period. */
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
        and ${within(sql, 't.started_at', from, to)} and t.ended_at is null
      limit ${MOST_RUNNING}
    ) going`
  return row.running
}

/** From when on traces are counted; null if all are. */
export async function readCountedFrom(sql: Sql, projectId: number): Promise<string | null> {
  const [row] = await sql<{ from: string }[]>`
    select case when isfinite(uncounted) then uncounted else now() end as "from"
    from rollup_history where project_id = ${projectId}`
  return row?.from ?? null
}
