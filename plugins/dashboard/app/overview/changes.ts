/** Finds the groups whose numbers changed most between two periods. */
import { changeOf, rateOf } from '../charts/series.ts'
import type { SplitAnswer, SplitRow } from '../contract.ts'

export const METRICS = ['traces', 'errors', 'latency', 'tokens', 'cost'] as const
export type Metric = (typeof METRICS)[number]
type Total = SplitRow['total']

/** Returns the number that a chart shows for a total; null if there is none. */
export function metricOf({ traces, errors, p95, inputTokens, outputTokens, costUsd }: Total, metric: Metric) {
  switch (metric) {
    case 'traces':
      return traces
    case 'errors':
      return rateOf(errors, traces)
    case 'latency':
      return p95
    case 'tokens':
      return inputTokens + outputTokens
    case 'cost':
      return costUsd
  }
}

export interface GroupChange {
  readonly group: SplitRow
  readonly now: number | null
  readonly before: number | null
  /** How much more the group changed than all groups together, as a share of the whole. */
  readonly weight: number
}

/** Returns the groups of both periods, starting with those that changed most. */
export function groupChanges({ groups }: Pick<SplitAnswer, 'groups'>, metric: Metric): GroupChange[] {
  const known = groups.flatMap(group => (group.before === null ? [] : [{ group, before: group.before }]))
  const weights = metric === 'latency' ? latencyWeights(known) : sumWeights(known, metric)
  return known
    .map(({ group, before }, i) => ({
      ...{ group, now: metricOf(group.total, metric), before: metricOf(before, metric) },
      weight: weights[i]!
    }))
    .filter(({ now, before }) => now !== null || before !== null)
    .sort((a, b) => b.weight - a.weight)
}

type Known = readonly { readonly group: SplitRow; readonly before: Total }[]

/** Numbers that add up. An error rate changes with the number of errors. */
const amountOf = (total: Total, metric: Metric): number =>
  metric === 'errors' ? total.errors : (metricOf(total, metric) ?? 0)

/**
 * A group that grows like all others explains nothing. Its weight is therefore the part of its change that exceeds the
 * change of the whole.
 */
function sumWeights(known: Known, metric: Metric): number[] {
  const now = known.map(({ group }) => amountOf(group.total, metric))
  const before = known.map(each => amountOf(each.before, metric))
  const [allNow, allBefore] = [sum(now), sum(before)]
  const size = Math.max(allNow, allBefore)
  if (size === 0) return known.map(() => 0)
  const ratio = allBefore === 0 ? 0 : allNow / allBefore
  // If there is no previous data, equal groups are expected.
  const expected = (i: number) => (allBefore === 0 ? allNow / known.length : before[i]! * ratio)
  return known.map((_, i) => Math.abs(now[i]! - expected(i)) / size)
}

/** Durations do not add up. A group weighs as much as its relative change times its share of the traces. */
function latencyWeights(known: Known): number[] {
  const traces = sum(known.map(({ group }) => group.total.traces))
  return known.map(({ group, before }) =>
    traces === 0 ? 0 : Math.abs(changeOf(group.total.p95, before.p95) ?? 0) * (group.total.traces / traces)
  )
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

/**
 * Returns the splits, starting with the one whose groups changed most differently. A split with one group explains
 * nothing.
 */
export function sortSplits<T extends Pick<SplitAnswer, 'groups'>>(splits: readonly T[], metric: Metric): T[] {
  const weights = new Map(splits.map(split => [split, groupChanges(split, metric)[0]?.weight ?? 0]))
  return splits.toSorted((a, b) => weights.get(b)! - weights.get(a)!)
}
