/** Reads a period's sums by user, step or tag from stored sums (made-hours.ts), and from the traces of other hours. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../../database/tables.ts'
import { latencyInSql, percentilesOf, readHistogram } from '../../../rollups/latency.ts'
import type { Period } from '../../../rollups/period.ts'
import { readSplit, type UsageInterval } from '../../../rollups/usage.ts'
import { planUsage, type UsageHour, type UsagePlan } from '../../../rollups/usage-plan.ts'
import type { UsageSort } from '../../../schema/field-values.ts'
import { inSnapshot } from '../../transactions.ts'
import { hourOf } from '../rollups/deltas.ts'
import { bestRankOf, rankOf } from '../rollups/ranks.ts'
import { readTotal } from '../rollups/read-series.ts'
import { foundTraces, itemsOf } from './exact.ts'
import { isMarkOf, msOf, rollupVersions } from './marks.ts'
import { timeOf } from './matching.ts'
import { type GroupRow, type PeriodSums, rowOf } from './rows.ts'
import { usageTotal } from './summed.ts'

/** Maximum numbers of traces that are read one by one, and of their steps. */
const MOST_LIVE = 20_000
const MOST_LIVE_STEPS = 200_000

export interface MadeAsked {
  /** Whole hours, or whole days. */
  readonly period: Period
  readonly interval: UsageInterval
  /** user, step or tag:KEY. */
  readonly field: string
  readonly limit: number
  readonly stepKind?: string | undefined
  /** By default traces; `best` ranks each group by the number by which it comes first. */
  readonly sort?: UsageSort | 'best' | undefined
}

/** The sums, with the period that they cover. */
export type MadeSums = PeriodSums & Pick<UsagePlan, 'from' | 'to'>

export async function readMadeUsage(
  sql: Sql,
  projectId: number,
  asked: MadeAsked,
  mostLive = MOST_LIVE
): Promise<MadeSums> {
  const { period, interval, field } = asked
  return inSnapshot(sql, async () => {
    const most =
      field === 'step' ? Math.min(mostLive, MOST_LIVE_STEPS / (await readStepsPerTrace(sql, projectId))) : mostLive
    const plan = planUsage(
      await readHours(sql, projectId, asked),
      await readDays(sql, projectId, asked),
      { from: period.from, to: period.to, interval },
      most
    )
    const { from, to } = plan
    const [total] = to > from ? await readTotal(sql, projectId, { ...period, step: 'hour', from, to }, {}) : []
    const rows = await readGroups(sql, projectId, plan, asked)
    return {
      from,
      to,
      total: usageTotal(total),
      rows: rows.map(({ others: _, latency, ...row }) => {
        const { p50, p95 } = percentilesOf(readHistogram(latency))
        return rowOf({ ...row, p50, p95 })
      }),
      others: rows[0]?.others ?? 0
    }
  })
}

/** Returns the mean number of spans of the project's traces, at least 1. */
async function readStepsPerTrace(sql: Sql, projectId: number): Promise<number> {
  const [row] = await sql<[{ traces: number; spans: number }]>`
    select coalesce(sum(traces), 0)::float8 as traces, coalesce(sum(spans), 0)::float8 as spans
    from project_totals where project_id = ${projectId}`
  return Math.max(1, row.spans / Math.max(1, row.traces))
}

const isWithin = `start >= ${timeOf('$2')} and start < ${timeOf('$3')}`

const readHours = (sql: Sql, projectId: number, { period, field }: MadeAsked) =>
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

async function readDays(sql: Sql, projectId: number, { period, field }: MadeAsked): Promise<number[]> {
  const rows = await sql.unsafe<{ start: number }[]>(
    `with days as materialized (${rollupVersions('day', isWithin)})
    select ${msOf('d.start')} as start from days d
    where exists (select from usage_sums u where ${isMarkOf('day', '$4::text', 'd')})`,
    [projectId, period.from, period.to, field],
    { prepare: true }
  )
  return rows.map(({ start }) => start)
}

const AMOUNTS = ['traces', 'steps', 'errors', 'priced', 'input_tokens', 'output_tokens', 'cost', 'computed', 'latency']
const LIVE = `(select ${timeOf('ms')} as hour from unnest($2::float8[]) as ms) h cross join lateral (
    select * from traces
    where project_id = $1 and started_at >= h.hour and started_at < h.hour + interval '1 hour' offset 0
  ) t where true`

function groupsStatement({ field, interval, stepKind, sort = 'traces' }: MadeAsked): string {
  const isOfSteps = field === 'step'
  const rank = sort === 'best' ? `-${bestRankOf('sum(traces)')}` : rankOf(sort, 'sum(traces)')
  const start = interval === 'none' ? 'null::timestamptz' : `date_bin('1 ${interval}', start, '2000-01-01T00:00:00Z')`
  return `
  with ${foundTraces(SCHEMA_NAMES, LIVE)}, items as (${itemsOf(SCHEMA_NAMES, readSplit(field), stepKind && '$8')}),
  parts as materialized (
    select ${start} as start, key, kind, part = 'r' as is_rest, ${AMOUNTS.join(', ')} from usage_sums
    where project_id = $1 and part <> 'm' and field = $6::text ${stepKind === undefined ? '' : `and kind = $8`} and (
      (length = 'h' and start = any (array(select ${timeOf('ms')} from unnest($3::float8[]) as ms)))
      or (length = 'd' and start = any (array(select ${timeOf('ms')} from unnest($5::float8[]) as ms)))
    )
    union all
    select ${start.replace('start,', 'started_at,')}, key, kind, false, count(${isOfSteps ? 'distinct seq' : '*'}),
      ${isOfSteps ? 'count(*)' : '0'}, sum(errors), sum(priced), sum(input_tokens), sum(output_tokens), sum(cost),
      coalesce(sum(cost) filter (where is_computed), 0), sum(${latencyInSql('duration_ms')})
    from items where $4::text is not null group by 1, 2, 3
  ), groups as materialized (
    select key, kind, is_rest, is_rest or row_number() over (
      order by is_rest, rank desc, traces desc, steps desc, key, kind
    ) > $7::int as is_other
    from (
      select key, kind, is_rest, sum(traces) as traces, sum(steps) as steps, ${rank} as rank
      from parts group by key, kind, is_rest
    ) sums
  )
  select ${msOf('start')} as start, case when is_other then null else p.key end as key,
    case when is_other then null else p.kind end as kind, is_other as "isOther",
    (select count(*) from groups where is_other)::int as others, sum(traces)::float8 as traces,
    ${isOfSteps ? 'sum(steps)::float8' : 'null'} as steps, sum(errors)::float8 as errors, sum(priced)::float8 as priced,
    sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens", sum(cost)::float8 as cost,
    sum(computed)::float8 as computed, sum(latency)::text as latency
  from parts p join groups g
    on g.key is not distinct from p.key and g.kind is not distinct from p.kind and g.is_rest = p.is_rest
  group by 1, 2, 3, 4 order by 1, 4, ${rank} desc, sum(traces) desc, sum(steps) desc, 2, 3`
}

type Row = Omit<GroupRow, 'p50' | 'p95'> & { readonly latency: string; readonly others: number }

function readGroups(sql: Sql, projectId: number, plan: UsagePlan, asked: MadeAsked) {
  const { field, limit, stepKind } = asked
  const split = readSplit(field)
  const tagKey = split?.field === 'tag' ? split.tagKey : ''
  const values = [projectId, [...plan.live], [...plan.hours], tagKey, [...plan.days], field, limit]
  const more = stepKind === undefined ? [] : [stepKind]
  return sql.unsafe<Row[]>(groupsStatement(asked), [...values, ...more], { prepare: true })
}
