/** Reads which hours and days have stored sums of a field, and plans from which sums a period is read. */
import type { Sql } from 'postgres'
import type { Period } from '../../../rollups/period.ts'
import type { UsageInterval } from '../../../rollups/usage.ts'
import { planUsage, type UsageHour, type UsagePlan } from '../../../rollups/usage-plan.ts'
import { hourOf } from '../rollups/deltas.ts'
import { isMarkOf, msOf, rollupVersions } from './marks.ts'
import { timeOf } from './matching.ts'

/** Maximum number of traces that are read one by one because their hour has no stored sums. */
export const MOST_LIVE = 20_000

export interface PlanAsked {
  /** Whole hours, or whole days. */
  readonly period: Period
  readonly interval: UsageInterval
  readonly field: string
}

/** Call this function in the snapshot in which the sums are read. */
export async function readUsagePlan(
  sql: Sql,
  projectId: number,
  asked: PlanAsked,
  mostLive: number
): Promise<UsagePlan> {
  const { from, to } = asked.period
  const hours = await readHours(sql, projectId, asked)
  return planUsage(hours, await readDays(sql, projectId, asked), { from, to, interval: asked.interval }, mostLive)
}

const isWithin = `start >= ${timeOf('$2')} and start < ${timeOf('$3')}`

const readHours = (sql: Sql, projectId: number, { period, field }: PlanAsked) =>
  sql.unsafe<UsageHour[]>(
    `with hours as materialized (${rollupVersions('hour', isWithin)}), news as materialized (
      select ${hourOf('started_at')} as hour, sum(greatest(traces, 0)) as traces from rollup_news
      where project_id = $1 and started_at >= ${timeOf('$2')} and started_at < ${timeOf('$3')} group by 1
    )
    select ${msOf('coalesce(h.start, n.hour)')} as start,
      (coalesce(h.traces, 0) + coalesce(n.traces, 0))::float8 as traces,
      n.hour is null and exists (select from usage_sums u where ${isMarkOf('hour', '$4::text', 'h')}) as "isMade"
    from hours h full join news n on n.hour = h.start where h.traces > 0 or n.hour is not null`,
    [projectId, period.from, period.to, field],
    { prepare: true }
  )

async function readDays(sql: Sql, projectId: number, { period, field }: PlanAsked): Promise<number[]> {
  const rows = await sql.unsafe<{ start: number }[]>(
    `with days as materialized (${rollupVersions('day', isWithin)})
    select ${msOf('d.start')} as start from days d
    where exists (select from usage_sums u where ${isMarkOf('day', '$4::text', 'd')})`,
    [projectId, period.from, period.to, field],
    { prepare: true }
  )
  return rows.map(({ start }) => start)
}

/** SQL for the traces of the hours in $2, in milliseconds since 1970. */
export const LIVE_TRACES = `(select ${timeOf('ms')} as hour from unnest($2::float8[]) as ms) h cross join lateral (
    select * from traces
    where project_id = $1 and started_at >= h.hour and started_at < h.hour + interval '1 hour' offset 0
  ) t where true`

/**
 * SQL for the stored sums of the field $6 in the hours in $3 and the days in $5. Each hour and day is looked up.
 * Readers use no bitmaps (lib/database/reader-settings.ts): one condition on both would read all of the project's
 * sums.
 */
export const PLANNED_SUMS = `(
      select 'h'::"char" as unit, ms from unnest($3::float8[]) as ms
      union all select 'd', ms from unnest($5::float8[]) as ms
    ) planned cross join lateral (
      select * from usage_sums
      where project_id = $1 and length = planned.unit and start = ${timeOf('planned.ms')} and field = $6::text
        and part <> 'm' offset 0
    ) u`
