/**
 * Reads the sums of a period by group, with those of the preceding period, in total and per step of time:
 *
 * - for up to 20,000 traces, from the traces (exact-periods.ts), by any field and with any filters;
 * - beyond that, by model, name and environment from rollups, with any filters;
 * - by user, step and tag from stored sums (made-sums.ts), which exist for all traces only.
 */
import type { Sql } from 'postgres'
import { byTheHour, countSteps, type Period, periodBefore, STEPS } from '../../../rollups/period.ts'
import {
  exactTotal,
  type GroupSums,
  type Lists,
  NO_TRACES,
  type Series,
  type SeriesTotal,
  stepListsOf,
  totalOf
} from '../../../rollups/series.ts'
import { alignedTime, type UsageSplit } from '../../../rollups/usage.ts'
import type { UsageRow } from '../../../schema/history/usage.ts'
import { RANKED_BY } from '../rollups/ranks.ts'
import { readGroupSeries, readTotals } from '../rollups/read-series.ts'
import type { ChartFilters } from '../rollups/sums.ts'
import { type PeriodRow, readExactPeriods } from './exact-periods.ts'
import { readUsageFields } from './made-hours.ts'
import { readMadeUsage } from './made-sums.ts'
import { MOST_EXACT } from './matching.ts'
import { summedField } from './summed.ts'

/**
 * Maximum numbers of groups listed in total, and per step of time. A quarter of the groups are the top groups by each
 * number (traces, errors, tokens, cost), so that each chart can draw the top five groups by its number.
 */
const MOST_GROUPS = 60
const MOST_LINES = 5 * RANKED_BY.length

export interface SplitGroup {
  readonly key: string | null
  /** Kind of the steps, if the groups are of steps. */
  readonly kind: string | null
  readonly isOther: boolean
  readonly total: SeriesTotal
  /** Total of the preceding period; null if it is unknown or was not requested. */
  readonly before: SeriesTotal | null
}

export type SplitLine = Pick<SplitGroup, 'key' | 'kind' | 'isOther'> & Lists

export interface SplitSums {
  /** The period that the sums cover. */
  readonly period: Period
  /** Whether percentiles are approximate. */
  readonly approximate: boolean
  /** Why there are no sums: the project lacks stored sums of the field, or stored sums cannot be filtered. */
  readonly missing: 'sums' | 'filters' | null
  readonly groups: readonly SplitGroup[]
  /** The groups that rank first by any of their numbers, per step of time, and all others as one. */
  readonly lines: readonly SplitLine[]
  /** Number of groups that the last group sums. */
  readonly others: number
}

export interface SplitAsked {
  readonly period: Period
  readonly compares: boolean
  readonly filters: ChartFilters
  readonly split: UsageSplit
}

/** `most` is for tests. */
export async function readSplitSums(
  sql: Sql,
  projectId: number,
  asked: SplitAsked,
  most = MOST_EXACT
): Promise<SplitSums> {
  const { compares, filters, split } = asked
  const before = compares ? periodBefore(asked.period).from : undefined
  const limits = { limit: MOST_GROUPS, charted: MOST_LINES }
  const rows = await readExactPeriods(sql, projectId, { ...asked, before, ...limits }, most)
  if (rows !== undefined) return exactSplit(rows, asked)
  const period = asked.period.step === 'minute5' ? byTheHour(asked.period) : asked.period
  const field = summedField(split)
  if (field !== undefined) return readSummedSplit(sql, projectId, { ...asked, period }, field)
  if (Object.values(filters).some(value => value !== undefined)) return without('filters', period)
  const made = split.field === 'tag' ? `tag:${split.tagKey}` : split.field
  if (!(await readUsageFields(sql, projectId)).includes(made)) return without('sums', period)
  return readMadeSplit(sql, projectId, { ...asked, period }, made)
}

const without = (missing: 'sums' | 'filters', period: Period): SplitSums => ({
  ...{ period, missing, approximate: true, groups: [], lines: [], others: 0 }
})

/** Reads the sums of all traces, per step of time and in total; undefined if there are too many traces. */
export async function readExactSeries(
  sql: Sql,
  projectId: number,
  { period, compares, filters }: Omit<SplitAsked, 'split'>,
  most = MOST_EXACT
): Promise<{ readonly series: Series; readonly before: SeriesTotal } | undefined> {
  const before = compares ? periodBefore(period).from : undefined
  const rows = await readExactPeriods(sql, projectId, { period, before, filters, limit: 1, charted: 1 }, most)
  if (rows === undefined) return undefined
  const whole = (isBefore: boolean) => rows.find(row => row.at === null && row.isBefore === isBefore)
  const steps = new Map(rows.flatMap(row => (row.at === null ? [] : [[row.at, exactTotal(row)]])))
  const total = whole(false)
  const earlier = whole(true)
  return {
    series: {
      key: null,
      ...stepListsOf(steps, countSteps(period)),
      total: total === undefined ? NO_TRACES : exactTotal(total)
    },
    before: earlier === undefined ? NO_TRACES : exactTotal(earlier)
  }
}

type Label = Pick<SplitGroup, 'key' | 'kind' | 'isOther'>
const labelOf = ({ key, kind, isOther }: Label): Label => ({ key, kind, isOther })
const nameOf = ({ key, kind, isOther }: Label): string => JSON.stringify([key, kind, isOther])

function exactSplit(rows: readonly PeriodRow[], { period, compares }: SplitAsked): SplitSums {
  const whole = rows.filter(({ at }) => at === null)
  const now = new Map(whole.filter(row => !row.isBefore).map(row => [nameOf(row), row]))
  const earlier = new Map(whole.filter(row => row.isBefore).map(row => [nameOf(row), row]))
  /** Groups of the preceding period that have no traces now come last. */
  const gone = [...earlier].filter(([name]) => !now.has(name)).map(([, row]) => row)
  const totalIn = (of: ReadonlyMap<string, PeriodRow>, row: Label) => {
    const found = of.get(nameOf(row))
    return found === undefined ? NO_TRACES : exactTotal(found)
  }
  const groups = [...now.values(), ...gone].map(row => ({
    ...labelOf(row),
    total: totalIn(now, row),
    before: compares ? totalIn(earlier, row) : null
  }))
  return {
    ...{ period, approximate: false, missing: null },
    groups: groups.sort((a, b) => Number(a.isOther) - Number(b.isOther)),
    lines: linesOf(
      rows.flatMap(({ at, ...row }) => (at === null ? [] : [{ ...labelOf(row), at, total: exactTotal(row) }])),
      period
    ),
    others: whole[0]?.others ?? 0
  }
}

/** Puts the totals of steps into one line per group, in the order of the groups' total numbers of traces. */
function linesOf(rows: readonly (Label & { at: number; total: SeriesTotal })[], period: Period): SplitLine[] {
  const lines = new Map<string, { label: Label; traces: number; totals: Map<number, SeriesTotal> }>()
  for (const { at, total, ...label } of rows) {
    const line = lines.get(nameOf(label)) ?? { label, traces: 0, totals: new Map() }
    line.traces += total.traces
    line.totals.set(at, total)
    lines.set(nameOf(label), line)
  }
  return [...lines.values()]
    .sort((a, b) => Number(a.label.isOther) - Number(b.label.isOther) || b.traces - a.traces)
    .map(({ label, totals }) => ({ ...label, ...stepListsOf(totals, countSteps(period)) }))
}

async function readSummedSplit(
  sql: Sql,
  projectId: number,
  { period, compares, filters }: SplitAsked,
  field: 'model' | 'name' | 'environment'
): Promise<SplitSums> {
  const { rows, others } = await readTotals(sql, projectId, period, field, filters)
  const earlier = compares ? await readTotals(sql, projectId, periodBefore(period), field, filters) : undefined
  const top = firstByEach(rows.filter(({ isOther }) => !isOther))
  const steps = await readGroupSeries(sql, projectId, {
    period,
    split: field,
    filters,
    keys: top.map(({ key }) => key)
  })
  const beforeOf = ({ key, isOther }: GroupSums): SeriesTotal | null => {
    const found = earlier?.rows.find(row => row.key === key && row.isOther === isOther)
    // A group that is not listed may be one of the others, unless there are none.
    return found !== undefined ? totalOf([found]) : earlier?.others === 0 ? NO_TRACES : null
  }
  return {
    ...{ period, approximate: true, missing: null, others },
    groups: rows.map(row => ({
      ...labelOf({ ...row, kind: null }),
      total: totalOf([row]),
      before: beforeOf(row)
    })),
    lines: linesOf(
      steps.map(({ at, key, isOther, ...sums }) => ({ key, kind: null, isOther, at, total: totalOf([sums]) })),
      period
    )
  }
}

/** Returns the groups that are among the first by any of their numbers. */
function firstByEach(rows: readonly GroupSums[]): GroupSums[] {
  const numbers: ((row: GroupSums) => number)[] = [
    row => row.traces,
    row => row.errors,
    row => row.inputTokens + row.outputTokens,
    row => row.cost
  ]
  const first = numbers.flatMap(of => rows.toSorted((a, b) => of(b) - of(a)).slice(0, MOST_LINES / numbers.length))
  return [...new Set(first)]
}

async function readMadeSplit(
  sql: Sql,
  projectId: number,
  { period: { from, to, step }, compares }: SplitAsked,
  field: string
): Promise<SplitSums> {
  const interval = step === 'day' ? 'day' : 'hour'
  // Sums are stored by hours and days of UTC.
  const period = alignedTime({ from, to, interval })
  const read = (of: Period, limit: number, per: 'none' | 'day' | 'hour') =>
    readMadeUsage(sql, projectId, { period: { ...of, step: 'hour' }, interval: per, field, limit, sort: 'best' })
  const now = await read(period, MOST_GROUPS, 'none')
  const earlier = compares ? await read(periodBefore(period), 10 * MOST_GROUPS, 'none') : undefined
  const steps = await readMadeUsage(sql, projectId, { period, interval, field, limit: MOST_LINES, sort: 'best' })
  const beforeOf = (row: UsageRow) => {
    const found = earlier?.rows.find(each => nameOf(each) === nameOf(row))
    return found !== undefined ? totalOfUsage(found) : earlier?.others === 0 ? NO_TRACES : null
  }
  return {
    period: { ...period, from: Math.max(period.from, floor(now.from, STEPS[period.step])) },
    ...{ approximate: true, missing: null, others: now.others },
    groups: now.rows
      .map(row => ({ ...labelOf(row), total: totalOfUsage(row), before: beforeOf(row) }))
      .sort((a, b) => Number(a.isOther) - Number(b.isOther) || b.total.traces - a.total.traces),
    lines: linesOf(
      steps.rows.map(row => ({
        ...labelOf(row),
        at: (Date.parse(row.start!) - period.from) / STEPS[period.step],
        total: totalOfUsage(row)
      })),
      period
    )
  }
}

const floor = (ms: number, step: number): number => Math.floor(ms / step) * step

/** Stored sums have no 90th and 99th percentile. */
function totalOfUsage(row: UsageRow): SeriesTotal {
  const { errors, inputTokens, outputTokens, costUsd, withoutCost, p50Ms, p95Ms } = row
  const traces = row.steps ?? row.traces
  const percentiles = { p50: p50Ms, p90: null, p95: p95Ms, p99: null }
  return { traces, errors, inputTokens, outputTokens, costUsd, priced: traces - withoutCost, ...percentiles }
}
