/**
 * Sums the traces of a period and of the preceding period one by one: in total and per step of time, for all traces or
 * by group. All numbers are exact. Periods with too many traces are read from rollups instead (split-sums.ts).
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../../database/tables.ts'
import { type Period, STEPS } from '../../../rollups/period.ts'
import type { ExactSums } from '../../../rollups/series.ts'
import type { UsageSplit } from '../../../rollups/usage.ts'
import { bestRankOf } from '../rollups/ranks.ts'
import type { ChartFilters } from '../rollups/sums.ts'
import { foundTraces, itemsOf, ofPeriod } from './exact.ts'
import { hasFew, isSameGroup, MOST_EXACT } from './matching.ts'

/** Values that columns of a trace must have, and a tag that it must carry. */
export interface PeriodFilters extends ChartFilters {
  readonly user_id?: string | undefined
  readonly tag?: string | undefined
}

export interface PeriodsAsked {
  readonly period: Period
  /**
   * Start of the preceding period, or of a shorter period, in milliseconds since 1970. Only traces that started since
   * are summed. By default, the period's start.
   */
  readonly before?: number | undefined
  readonly filters: PeriodFilters
  readonly split?: UsageSplit | undefined
  /** Maximum number of groups listed separately in total, and per step. */
  readonly limit: number
  readonly charted: number
}

export interface PeriodRow extends ExactSums {
  /** Index of the step; null for the sums of a whole period. */
  readonly at: number | null
  readonly isBefore: boolean
  readonly key: string | null
  readonly kind: string | null
  readonly isOther: boolean
  /** Number of groups that are not listed separately in total. */
  readonly others: number
}

const percentile = (n: number) => `percentile_disc(${n / 100}) within group (order by duration_ms)::float8 as p${n}`

/** `traces` counts steps if the sums are of steps. */
const SUMS = `count(*)::float8 as traces, sum(errors)::float8 as errors, sum(priced)::float8 as priced,
  sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens", sum(cost)::float8 as cost,
  ${[50, 90, 95, 99].map(percentile).join(', ')}`

const labels = (most: string) => `case when rank <= ${most} then key end as key,
  case when rank <= ${most} then kind end as kind, rank is null or rank > ${most} as "isOther"`

/** The sums of the second period rank the groups. */
const NOW = 'filter (where started_at >= to_timestamp($6::float8 / 1000))'
const RANKED = `ranked as materialized (
    select key, kind, row_number() over (order by best, now desc, "both" desc, key, kind) as rank from (
      select key, kind, count(*) as "both", count(*) ${NOW} as now, ${bestRankOf(`count(*) ${NOW}`, NOW)} as best
      from items where $4::text is not null group by key, kind
    ) each
  )`
const ONE_GROUP = `items as (select found.*, null::text as key, null::text as kind from found),
  ranked as (select 1 as rank where $4::text is not null)`

/**
 * Parameters: the project, the start of the first period, the end of the second, the tag's key, the limit, the start of
 * the second period, the step's length and the number of charted groups; then the filters' values.
 */
const statement = (split: UsageSplit | undefined, conditions: string) => `
  with ${foundTraces(SCHEMA_NAMES, `${ofPeriod(SCHEMA_NAMES)}${conditions}`, 'false')},
  ${split === undefined ? ONE_GROUP : `items as materialized (${itemsOf(SCHEMA_NAMES, split)}), ${RANKED}`},
  placed as materialized (
    select i.key, i.kind, i.errors, i.priced, i.input_tokens, i.output_tokens, i.cost, i.duration_ms, g.rank,
      floor((extract(epoch from i.started_at)::float8 * 1000 - $6::float8) / $7::float8)::int as at
    from items i left join (select * from ranked where rank <= greatest($5::int, $8::int)) g
      on ${split === undefined ? 'true' : isSameGroup('i', 'g')}
  )
  select null::int as at, at < 0 as "isBefore", ${labels('$5::int')},
    (select count(*) from ranked where rank > $5::int)::int as others, ${SUMS}
  from placed group by 2, 3, 4, 5
  union all
  select at, false, ${labels('$8::int')}, 0, ${SUMS} from placed where at >= 0 group by 1, 3, 4, 5
  order by "isOther", traces desc, key, kind`

/** Returns the sums; undefined if the periods have too many traces or steps. `most` is for tests. */
export async function readExactPeriods(
  sql: Sql,
  projectId: number,
  { period, before = period.from, filters, split, limit, charted }: PeriodsAsked,
  most = MOST_EXACT
): Promise<readonly PeriodRow[] | undefined> {
  const { from, to, step } = period
  const few = { from: before, to, readsSteps: split?.field === 'step' }
  if (!(await hasFew(sql, projectId, few, SCHEMA_NAMES, most))) return undefined
  const tagKey = split?.field === 'tag' ? split.tagKey : ''
  const values: (string | number)[] = [projectId, before, to, tagKey, limit, from, STEPS[step], charted]
  const conditions = filtersInSql(filters, value => `$${values.push(value)}`)
  return sql.unsafe<PeriodRow[]>(statement(split, conditions), values, { prepare: true })
}

/** Returns the conditions on a trace's row as t, each with a leading `and`. */
export const filtersInSql = ({ tag, ...columns }: PeriodFilters, bind: (value: string) => string): string =>
  Object.entries(columns)
    .map(([column, value]) => (value === undefined ? '' : ` and t.${column} = ${bind(value)}`))
    .join('') + (tag === undefined ? '' : ` and t.tags @> array[${bind(tag)}]::text[]`)
