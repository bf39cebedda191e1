/** Reads a period's sums by user, step or tag from stored sums (made-hours.ts), and from the traces of other hours. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../../database/tables.ts'
import { latencyInSql, percentilesOf, readHistogram } from '../../../rollups/latency.ts'
import type { Period } from '../../../rollups/period.ts'
import { readSplit, type UsageInterval } from '../../../rollups/usage.ts'
import type { UsagePlan } from '../../../rollups/usage-plan.ts'
import type { UsageSort } from '../../../schema/field-values.ts'
import { inSnapshot } from '../../transactions.ts'
import { bestRankOf, rankOf } from '../rollups/ranks.ts'
import { readTotal } from '../rollups/read-series.ts'
import { withComputedCosts } from './computed-costs.ts'
import { inOrderOf, MOST_RANKED, placeInSql, slowestFirst } from './duration-order.ts'
import { foundTraces, itemsOf } from './exact.ts'
import { LIVE_TRACES, MOST_LIVE, PLANNED_SUMS, readUsagePlan } from './made-plan.ts'
import { msOf, startInSql } from './marks.ts'
import { isListed } from './matching.ts'
import { type GroupRow, type PeriodSums, rowOf } from './rows.ts'
import { usageTotal } from './summed.ts'

/** Maximum number of steps that are read one by one. */
const MOST_LIVE_STEPS = 200_000

export interface MadeAsked {
  /** Whole hours, or whole days. */
  readonly period: Period
  readonly interval: UsageInterval
  /** user, step or tag:KEY. */
  readonly field: string
  readonly limit: number
  readonly stepKind?: string | undefined
  /** Traces by default; `best` ranks each group by the number by which it comes first. */
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
  const { period, field } = asked
  return inSnapshot(sql, async () => {
    const most =
      field === 'step' ? Math.min(mostLive, MOST_LIVE_STEPS / (await readStepsPerTrace(sql, projectId))) : mostLive
    const plan = await readUsagePlan(sql, projectId, asked, most)
    const { from, to } = plan
    const [total] = to > from ? await readTotal(sql, projectId, { ...period, step: 'hour', from, to }, {}) : []
    const rows = await readGroups(sql, projectId, plan, asked)
    const whole = { total: usageTotal(total), rows: [], others: 0 }
    const ofAll = { period: { ...period, from, to }, interval: 'none', split: undefined, filters: {} } as const
    return {
      from,
      to,
      total: (await withComputedCosts(sql, projectId, whole, ofAll, mostLive)).total,
      rows: inOrderOf(
        rows.map(({ others: _, latency, ...row }) => {
          const { p50, p95 } = percentilesOf(readHistogram(latency))
          return rowOf({ ...row, p50, p95 })
        }),
        asked.sort
      ),
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

const AMOUNTS = ['traces', 'steps', 'errors', 'priced', 'input_tokens', 'output_tokens', 'cost', 'computed', 'latency']

/**
 * SQL for the sums of parts of the period, as the expression `parts`. Stored sums are read each time that `parts` is
 * read, because a copy of thousands of groups would be written to a file. Parameter 8 is the kind of the steps, if any.
 */
function partsOf({ field, interval, stepKind }: MadeAsked): string {
  const isOfSteps = field === 'step'
  const items = itemsOf(SCHEMA_NAMES, readSplit(field), stepKind && '$8')
  return `
  with ${foundTraces(SCHEMA_NAMES, LIVE_TRACES)}, items as (${items}), live as materialized (
    select ${startInSql(interval, 'started_at')} as start, key, kind, false as is_rest,
      count(${isOfSteps ? 'distinct seq' : '*'}) as traces, ${isOfSteps ? 'count(*)' : '0'} as steps,
      sum(errors) as errors, sum(priced) as priced, sum(input_tokens) as input_tokens,
      sum(output_tokens) as output_tokens, sum(cost) as cost,
      coalesce(sum(cost) filter (where is_computed), 0) as computed, sum(${latencyInSql('duration_ms')}) as latency
    from items where $4::text is not null group by 1, 2, 3
  ), parts as not materialized (
    select ${startInSql(interval, 'start')} as start, key, kind, part = 'r' as is_rest, ${AMOUNTS.join(', ')}
    from ${PLANNED_SUMS} ${stepKind === undefined ? '' : `where kind = $8`}
    union all
    select start, key, kind, is_rest, ${AMOUNTS.join(', ')} from live
  )`
}

const idOf = (kind: string) => `json_build_array(key, ${kind})::text`

const slowestStatement = (asked: MadeAsked): string => `
  ${partsOf({ ...asked, interval: 'none' })}
  select ${idOf('kind')} as id, sum(latency)::text as latency from parts where not is_rest
  group by key, kind order by sum(traces) desc, sum(steps) desc, key, kind limit greatest(${MOST_RANKED}, $7::int)`

/** Returns SQL by which groups are ranked, descending. Groups ranked by duration have another order (`placeInSql`). */
function rankBySums(sort: MadeAsked['sort'] = 'traces'): string {
  if (sort === 'best') return `-${bestRankOf('sum(traces)')}`
  return rankOf(sort === 'duration' ? 'traces' : sort, 'sum(traces)')
}

/**
 * `order` is the parameter with the order of the groups, if they are ranked by duration. `is_other` has an offset, so
 * that PostgreSQL computes it once for each row.
 */
function groupsStatement(asked: MadeAsked, order: string | undefined): string {
  const isOfSteps = asked.field === 'step'
  const bySum = rankBySums(asked.sort)
  // Only steps have kinds. Comparing the kinds of users and tags, which are null, takes a tenth longer.
  const kind = isOfSteps ? 'kind' : 'null::text'
  return `${partsOf(asked)}, sums as materialized (
    select key, ${kind} as kind, is_rest, sum(traces) as traces, sum(steps) as steps,
      ${order === undefined ? bySum : placeInSql(order, idOf(kind))} as rank
    from parts group by key, ${isOfSteps ? 'kind,' : ''} is_rest
  ), listed as materialized (
    select key, kind from sums where not is_rest
    order by rank desc, traces desc, steps desc, key, kind limit $7::int
  )
  select ${msOf('start')} as start, case when is_other then null else key end as key,
    case when is_other then null else ${kind} end as kind, is_other as "isOther",
    (select count(*) from sums)::int - (select count(*) from listed)::int as others, sum(traces)::float8 as traces,
    ${isOfSteps ? 'sum(steps)::float8' : 'null'} as steps, sum(errors)::float8 as errors, sum(priced)::float8 as priced,
    sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens", sum(cost)::float8 as cost,
    sum(computed)::float8 as computed, sum(latency)::text as latency
  from parts p cross join lateral (
    select p.is_rest or not ${isListed('p', isOfSteps ? undefined : ['key'])} as is_other offset 0
  ) labelled
  group by 1, 2, 3, 4 order by 1, 4, ${bySum} desc, sum(traces) desc, sum(steps) desc, 2, 3`
}

type Row = Omit<GroupRow, 'p50' | 'p95'> & { readonly latency: string; readonly others: number }

async function readGroups(sql: Sql, projectId: number, plan: UsagePlan, asked: MadeAsked): Promise<Row[]> {
  const { field, limit, stepKind, sort } = asked
  const split = readSplit(field)
  const tagKey = split?.field === 'tag' ? split.tagKey : ''
  const some = [projectId, [...plan.live], [...plan.hours], tagKey, [...plan.days], field, limit]
  const values = stepKind === undefined ? some : [...some, stepKind]
  if (sort !== 'duration') return sql.unsafe<Row[]>(groupsStatement(asked, undefined), values, { prepare: true })
  const groups = await sql.unsafe<{ id: string; latency: string }[]>(slowestStatement(asked), values, { prepare: true })
  const statement = groupsStatement(asked, `$${values.length + 1}`)
  return sql.unsafe<Row[]>(statement, [...values, slowestFirst(groups, limit)], { prepare: true })
}
