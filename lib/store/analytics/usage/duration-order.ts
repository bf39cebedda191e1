/**
 * Ranks groups of stored sums by the 95th percentile of their durations. PostgreSQL cannot compute percentiles of
 * histograms, so the groups' histograms are read first, and the statement that sums the groups receives their order.
 */
import { percentilesOf, readHistogram } from '../../../rollups/latency.ts'
import type { UsageSort } from '../../../schema/field-values.ts'
import type { UsageRow } from '../../../schema/history/usage.ts'

/** Maximum number of groups whose histograms are read: those with the most traces. All others come last. */
export const MOST_RANKED = 5000

interface RankedGroup {
  /** The group's key and kind as JSON, as PostgreSQL writes it. */
  readonly id: string
  readonly latency: string
}

/** Returns the ids of the slowest groups, the slowest first. Groups that are equally slow keep their order. */
export function slowestFirst(groups: readonly RankedGroup[], limit: number): string[] {
  return groups
    .map(({ id, latency }) => ({ id, p95: percentilesOf(readHistogram(latency)).p95 ?? -1 }))
    .sort((a, b) => b.p95 - a.p95)
    .slice(0, limit)
    .map(({ id }) => id)
}

/** Returns SQL by which groups are ranked, descending, in the order of the ids in the parameter `order`. */
export const placeInSql = (order: string, id: string): string =>
  `-coalesce(array_position(${order}::text[], ${id}), ${MOST_RANKED})`

/** Puts the rows of each hour or day in order, which SQL does not do for durations. */
export function inOrderOf<T extends Pick<UsageRow, 'start' | 'isOther' | 'p95Ms'>>(
  rows: readonly T[],
  sort: UsageSort | 'best' | undefined
): readonly T[] {
  if (sort !== 'duration') return rows
  const startOf = ({ start }: T) => (start === null ? 0 : Date.parse(start))
  return rows.toSorted(
    (a, b) => startOf(a) - startOf(b) || Number(a.isOther) - Number(b.isOther) || (b.p95Ms ?? -1) - (a.p95Ms ?? -1)
  )
}
