/**
 * What readers add up: rollups and the news that are not in them yet, in one statement, so in one snapshot. Of a few hours the
 * traces themselves are read, which is exact to the minute, if they are not too many.
 */
import type { Sql } from 'postgres'
import { AMOUNTS, amountsInSql } from '../../rollups/amounts.ts'
import type { Period } from '../../rollups/period.ts'

export interface ChartFilters {
  readonly status?: string | undefined
  /** As it is stored. */
  readonly environment?: string | undefined
  readonly model?: string | undefined
  readonly name?: string | undefined
}

/** A statement is bounded by so many traces; what has more is read by the hour. */
const MOST_TRACES = 20_000
/** Kinds whose names are looked up, those with the most traces. */
export const MOST_KINDS = 2000

/** Whether a period has few enough traces to read each. */
export async function hasFewTraces(sql: Sql, projectId: number, { from, to }: Period): Promise<boolean> {
  const [row] = await sql<[{ traces: number }]>`
    select count(*) as traces from (
      select from traces where project_id = ${projectId} and ${within(sql, 'started_at', from, to)}
      limit ${MOST_TRACES + 1}
    ) few`
  return row.traces <= MOST_TRACES
}

function within(sql: Sql, column: string, from: number, to: number) {
  const time = sql.unsafe(column)
  return sql`${time} >= to_timestamp(${from / 1000}::float8) and ${time} < to_timestamp(${to / 1000}::float8)`
}

const amounts = AMOUNTS.join(', ')
const ofTrace = AMOUNTS.map(name => `${amountsInSql('t', 1)[name]} as ${name}`).join(', ')
const LEVELS = {
  hour: { family: 'h', kind: 'i' },
  day: { family: 'd', kind: 'n' }
} as const

/** SQL of rows (start, family, list and amounts) of a period: `list` is the kind, or the family if kinds do not matter. */
export function sumsIn(sql: Sql, projectId: number, { from, to, step }: Period, by: 'family' | 'kind') {
  if (step === 'minute5') {
    return sql`
      select t.started_at as start, t.family, t.named_family as list, ${sql.unsafe(ofTrace)} from traces t
      where t.project_id = ${projectId} and ${within(sql, 't.started_at', from, to)} and t.ended_at is not null`
  }
  return sql`
    select start, family, list, ${sql.unsafe(amounts)} from rollups
    where project_id = ${projectId} and level = ${LEVELS[step][by]}::text::"char" and ${within(sql, 'start', from, to)}
    union all
    select started_at, family, ${sql.unsafe(by)}, ${sql.unsafe(amounts)} from rollup_news
    where project_id = ${projectId} and ${within(sql, 'started_at', from, to)}`
}

/** SQL of the families that fit; with a name, `kind` is the kind that it makes of each. */
export function familiesOf(sql: Sql, projectId: number, { status, environment, model, name }: ChartFilters) {
  return sql`
    select family, status, environment, model,
      ${name === undefined ? sql`null::bigint` : sql`hashtextextended(${name}, family)`} as kind
    from trace_families where project_id = ${projectId}
      ${status === undefined ? sql`` : sql`and status = ${status}`}
      ${environment === undefined ? sql`` : sql`and environment = ${environment}`}
      ${model === undefined ? sql`` : sql`and model = ${model}`}`
}

/** SQL of the name of a kind: that of any trace of it. Null for what stands for all other names of a family. */
export const nameOf = (sql: Sql, projectId: number) => sql`(
  select t.name from traces t where t.project_id = ${projectId} and t.named_family = k.list
  order by t.started_at desc, t.id desc limit 1)`

/** The running traces of a period; counting stops at this number of each family. */
export const MOST_RUNNING = 1000

export async function countRunning(
  sql: Sql,
  projectId: number,
  { from, to }: Period,
  { status, ...filters }: ChartFilters
): Promise<number> {
  if (status !== undefined && status !== 'running') return 0
  const isFit = filters.name === undefined ? sql`t.family = f.family` : sql`t.named_family = f.kind`
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
