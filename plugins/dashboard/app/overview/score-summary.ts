/** Summarises each of a project's scores on one line. */

import type { ScoreOverTime } from '../contract.ts'
import { formatMean, formatPercent } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'

const sum = (counts: readonly number[]) => counts.reduce((all, each) => all + each, 0)

/** Returns a summary such as `mean 0.84`, `82 % yes` or `correct 63 %`. */
export function summaryOf({ dataType, count, shares, average }: ScoreOverTime): string {
  if (count === 0) return ''
  if (dataType === 'boolean') return `${formatPercent(sum(shares.true ?? []) / count)} yes`
  if (dataType === 'categorical') {
    const [most] = Object.entries(shares).sort(([, one], [, other]) => sum(other) - sum(one))
    return most === undefined ? '' : `${asLine(most[0], 24)} ${formatPercent(sum(most[1]) / count)}`
  }
  return average === null ? '' : `mean ${formatMean(average)}`
}

/** Returns a categorical score's most frequent values (at most `most` of them) and the sum of the remaining values. */
export function sharesOf(
  { shares, other }: ScoreOverTime,
  most: number
): { name: string; values: readonly number[] }[] {
  const values = Object.entries(shares).sort(([, one], [, two]) => sum(two) - sum(one))
  const kept = values.slice(0, most).map(([name, values]) => ({ name: asLine(name, 24), values }))
  const rest = [...values.slice(most).map(([, counts]) => counts), other]
  const left = (rest[0] ?? []).map((_, i) => rest.reduce((all, counts) => all + (counts[i] ?? 0), 0))
  return sum(left) === 0 ? kept : [...kept, { name: 'others', values: left }]
}
