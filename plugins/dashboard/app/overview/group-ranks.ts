/** Sorts the groups of a table by one of its columns. */
import { rateOf } from '../charts/series.ts'
import type { SplitRow } from '../contract.ts'

export const RANKS = ['traces', 'rate', 'p50', 'p95', 'tokens', 'cost'] as const
export type RankColumn = (typeof RANKS)[number]

/** Reads the column by which an address sorts the tables. */
export const readRank = (text: string | undefined): RankColumn | undefined => RANKS.find(rank => rank === text)

/** Users are usually compared by what they cost, if that is known, and other groups by their number of traces. */
export const usualRank = (by: string, groups: readonly SplitRow[]): RankColumn =>
  by === 'user' && groups.some(({ total }) => total.priced > 0) ? 'cost' : 'traces'

function numberOf({ total }: SplitRow, rank: RankColumn): number | null {
  const { traces, errors, p50, p95, inputTokens, outputTokens, costUsd, priced } = total
  switch (rank) {
    case 'traces':
      return traces
    case 'rate':
      return rateOf(errors, traces)
    case 'p50':
      return p50
    case 'p95':
      return p95
    case 'tokens':
      return inputTokens + outputTokens
    case 'cost':
      return priced === 0 ? null : costUsd
  }
}

/**
 * Returns the groups, starting with those that have the greatest number. Groups without the number follow; all others
 * come last.
 */
export function rankedRows(groups: readonly SplitRow[], rank: RankColumn): SplitRow[] {
  const of = (group: SplitRow) => numberOf(group, rank) ?? -1
  return groups.toSorted(
    (a, b) => Number(a.isOther) - Number(b.isOther) || of(b) - of(a) || b.total.traces - a.total.traces
  )
}
