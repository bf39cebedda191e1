/**
 * Sums a period's traces, or their steps, one by one. All numbers are exact, including percentiles. Periods with too
 * many traces are read from stored sums instead.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../../database/tables.ts'
import { AMOUNTS, amountsInSql } from '../../../rollups/amounts.ts'
import type { UsageSplit, UsageTime } from '../../../rollups/usage.ts'
import type { UsageSort } from '../../../schema/field-values.ts'
import { allAnswered } from '../../transactions.ts'
import { rankOf } from '../rollups/ranks.ts'
import { startInSql } from './marks.ts'
import { findMatching, hasFew, isListed, MOST_EXACT, timeOf, type UsageFilters } from './matching.ts'
import { type GroupRow, NO_SUMS, type PeriodSums, rowOf, type SumsRow, usageSumsOf } from './rows.ts'

export interface UsageAsked extends UsageTime {
  readonly split: UsageSplit | undefined
  /** With a split by steps, the kind of the steps that are split. */
  readonly stepKind?: string | undefined
  /** Traces by default. */
  readonly sort?: UsageSort | undefined
  readonly filters?: UsageFilters | undefined
  /** Maximum number of groups listed separately. */
  readonly limit: number
}

/** Returns the sums; undefined if the period has too many traces or steps. `most` is for tests. */
export async function readExactUsage(
  sql: Sql,
  projectId: number,
  asked: UsageAsked,
  names: TableNames = SCHEMA_NAMES,
  most = MOST_EXACT
): Promise<PeriodSums | undefined> {
  const { filters, split, stepKind, interval } = asked
  const seqs = filters && (await findMatching(sql, projectId, { ...asked, filters }, names, most.traces))
  if (filters !== undefined && seqs === undefined) return undefined
  const readsSteps = split?.field === 'step'
  if (!(await hasFew(sql, projectId, { ...asked, readsSteps, seqs }, names, most))) return undefined
  const values = [projectId, asked.from, asked.to]
  const list = seqs && `{${seqs.join(',')}}`
  const total = sql.unsafe<SumsRow[]>(
    totalStatement(names, ofPeriod(names, list && '$4')),
    [...values, ...(list === undefined ? [] : [list])] as never[],
    { prepare: true }
  )
  const isSplit = split !== undefined || interval !== 'none'
  const more: (string | number)[] = [split?.field === 'tag' ? split.tagKey : '', asked.limit]
  const bind = (value: string | undefined) => (value === undefined ? undefined : `$${3 + more.push(value)}`)
  const statement = groupsStatement(names, asked, { seqs: bind(list), stepKind: bind(stepKind) })
  const groups = isSplit
    ? sql.unsafe<(GroupRow & { others: number })[]>(statement, [...values, ...more] as never[], { prepare: true })
    : undefined
  await allAnswered<unknown>(groups === undefined ? [total] : [total, groups])
  const rows = (await groups) ?? []
  return {
    total: usageSumsOf((await total)[0] ?? NO_SUMS),
    rows: rows.map(({ others: _, ...row }) => rowOf(row)),
    others: rows[0]?.others ?? 0
  }
}

const amounts = amountsInSql('t', 1)
const SUMMED = AMOUNTS.filter(name => name !== 'latency' && name !== 'traces')

/** Returns SQL for the traces of the period from $2 to $3, only those with the numbers in `seqs` if it is set. */
export const ofPeriod = (names: TableNames, seqs?: string) => `${names.traces} t
    where t.project_id = $1 and t.started_at >= ${timeOf('$2')} and t.started_at < ${timeOf('$3')}
      ${seqs === undefined ? '' : `and t.seq = any (${seqs}::bigint[])`}`

/**
 * SQL for whether spoor computed a trace's cost, that is, the cost of at least one of its calls. Only traces from
 * OpenTelemetry have ranks and can have computed costs.
 */
const isComputed = (names: TableNames) => `t.cost_usd is not null and t.ranks is not null and exists (
        select from ${names.spans} s
        where s.project_id = $1 and s.trace_seq = t.seq and s.call_details ->> 'computedCost' is not null
      )`

/** SQL for the ended traces among `traces`. `computed` is SQL for whether spoor computed a trace's cost. */
export const foundTraces = (
  names: TableNames,
  traces: string = ofPeriod(names),
  computed = isComputed(names)
) => `found as materialized (
    select t.project_id, t.seq, t.started_at, t.name, t.model, t.environment, t.user_id, t.tags, t.duration_ms,
      ${SUMMED.map(name => `${amounts[name]} as ${name}`).join(', ')},
      ${computed} as is_computed
    from ${traces} and t.ended_at is not null
  )`

const SUMS = `sum(errors)::float8 as errors, sum(input_tokens)::float8 as "inputTokens",
  sum(output_tokens)::float8 as "outputTokens", sum(cost)::float8 as cost,
  coalesce(sum(cost) filter (where is_computed), 0)::float8 as computed, sum(priced)::float8 as priced,
  percentile_disc(0.5) within group (order by duration_ms)::float8 as p50,
  percentile_disc(0.95) within group (order by duration_ms)::float8 as p95`

const totalStatement = (names: TableNames, traces: string) => `
  with ${foundTraces(names, traces)}
  select count(*)::float8 as traces, null as steps, ${SUMS} from found having count(*) > 0`

const FIELD_COLUMNS = { model: 'model', name: 'name', environment: 'environment', user: 'user_id' } as const

/**
 * Returns SQL for the items to sum: one per trace, per trace and tag, or per step. Parameter 4 is the tag's key, and
 * the parameter `stepKind` the kind of the steps.
 */
export function itemsOf(names: TableNames, split: UsageSplit | undefined, stepKind?: string): string {
  if (split === undefined) return 'select found.*, null::text as key, null::text as kind from found'
  switch (split.field) {
    case 'tag':
      return `
        select found.*, substr(own.tag, length($4::text) + 2) as key, null::text as kind
        from found left join lateral (
          select tag from unnest(found.tags) as tag where starts_with(tag, $4::text || ':')
        ) own on true`
    case 'step':
      return `
        select found.project_id, found.seq, found.started_at, s.name as key, s.kind,
          round(extract(epoch from s.ended_at - s.started_at) * 1000)::bigint as duration_ms,
          ${SUMMED.map(name => `${ofStep[name]} as ${name}`).join(', ')},
          s.call_details ->> 'computedCost' is not null as is_computed
        from found join ${names.spans} s on s.project_id = $1 and s.trace_seq = found.seq
          ${stepKind === undefined ? '' : `and s.kind = ${stepKind}`}`
    default:
      return `select found.*, ${FIELD_COLUMNS[split.field]} as key, null::text as kind from found`
  }
}
const ofStep = amountsInSql('s', 1)

const P95 = 'percentile_disc(0.95) within group (order by duration_ms)'

/** Parameters 4 and 5 are used in every form of the statement, so that their types are known. */
const groupsStatement = (
  names: TableNames,
  { interval, split, sort = 'traces' }: UsageAsked,
  parameters: { readonly seqs: string | undefined; readonly stepKind: string | undefined }
) => {
  const rank = sort === 'duration' ? P95 : rankOf(sort, 'count(distinct seq)')
  const order = `${rank} desc, count(distinct seq) desc, count(*) desc`
  return `
  with ${foundTraces(names, ofPeriod(names, parameters.seqs))},
  items as materialized (${itemsOf(names, split, parameters.stepKind)}),
  groups as materialized (
    select key, kind, row_number() over (order by ${order}, key, kind) > $5::int and $4::text is not null as is_other
    from items group by key, kind
  ), listed as (
    select key, kind from groups where not is_other
  ), labelled as (
    select ${startInSql(interval, 'started_at')} as start, case when is_other then null else i.key end as label,
      case when is_other then null else i.kind end as label_kind, i.*
    from (select i.*, not ${isListed('i')} as is_other from items i) i
  )
  select (extract(epoch from start) * 1000)::float8 as start, label as key, label_kind as kind, is_other as "isOther",
    (select count(*) from groups where is_other)::int as others,
    count(${split?.field === 'step' ? 'distinct seq' : '*'})::float8 as traces,
    ${split?.field === 'step' ? 'count(*)::float8' : 'null'} as steps, ${SUMS}
  from labelled group by labelled.start, label, label_kind, is_other
  order by labelled.start, is_other, ${order}, label, label_kind`
}
