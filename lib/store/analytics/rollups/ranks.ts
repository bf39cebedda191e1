/** SQL that ranks groups of traces or steps by their numbers. */
import type { UsageSort } from '../../../schema/field-values.ts'

/** The sort orders that use sums. Durations are not sums. */
type SummedSort = Exclude<UsageSort, 'duration'>

/**
 * SQL expressions by which groups are ranked, over their items or sums. The count is the number of a group's traces.
 */
export const rankOf = (sort: SummedSort, traces: string, filter = ''): string =>
  ({
    traces: traces,
    errors: `sum(errors) ${filter}`,
    cost: `sum(cost) ${filter}`,
    tokens: `sum(input_tokens) ${filter} + sum(output_tokens) ${filter}`
  })[sort]

/** The numbers by which `bestRankOf` ranks. */
export const RANKED_BY: readonly SummedSort[] = ['traces', 'errors', 'tokens', 'cost']

/**
 * SQL for a group's best rank by any of its numbers. If n groups are wanted for each number, the first groups by this
 * rank include the first n by each number. Groups with equal numbers are ranked by their traces.
 */
export const bestRankOf = (traces: string, filter = ''): string => {
  const ranks = RANKED_BY.map(
    sort => `row_number() over (order by ${rankOf(sort, traces, filter)} desc nulls last, ${traces} desc)`
  )
  return `least(${ranks.join(', ')})`
}
