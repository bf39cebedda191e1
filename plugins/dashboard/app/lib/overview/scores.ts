/** What the scores of a project come to, each name in one line. */
import type { DataType } from '../answers.ts'
import type { Step } from '../charts/axis.ts'
import { formatPercent, formatScore } from '../format.ts'
import { asLine } from '../text.ts'

export interface ScoreGroup {
  readonly name: string
  readonly dataType: DataType
  readonly count: number
  /** By step; of booleans the share that is true, of categories null. */
  readonly mean: readonly (number | null)[]
  /** By value: counts by step. */
  readonly shares: Readonly<Record<string, readonly number[]>>
  readonly other?: readonly number[]
  readonly histogram: readonly { readonly from: number; readonly to: number; readonly count: number }[]
}

export interface ScoreSeries {
  readonly from: string
  readonly to: string
  readonly step: Step
  readonly starts: readonly string[]
  readonly names: readonly ScoreGroup[]
  /** Set if only so many scores were counted, the newest. */
  readonly newest: number | null
}

const sum = (counts: readonly number[]) => counts.reduce((all, each) => all + each, 0)

/** `mean 0.84`, `82 % yes`, `correct 63 %`. */
export function summaryOf({ dataType, count, shares, histogram }: ScoreGroup): string {
  if (count === 0) return ''
  if (dataType === 'boolean') return `${formatPercent(sum(shares.true ?? []) / count)} yes`
  if (dataType === 'categorical') {
    const [most] = Object.entries(shares).sort(([, one], [, other]) => sum(other) - sum(one))
    return most === undefined ? '' : `${asLine(most[0], 24)} ${formatPercent(sum(most[1]) / count)}`
  }
  // The middles of bars stand for what is in them.
  const whole = histogram.reduce((all, { from, to, count }) => all + ((from + to) / 2) * count, 0)
  const isExact = histogram.every(({ from, to }) => from === to)
  return `mean ${isExact ? '' : '≈ '}${formatScore(whole / count)}`
}

/** The values of a categorical score that have colours of their own, the most frequent first, and the rest. */
export function sharesOf({ shares, other }: ScoreGroup, most: number): { name: string; values: readonly number[] }[] {
  const values = Object.entries(shares).sort(([, one], [, two]) => sum(two) - sum(one))
  const kept = values.slice(0, most).map(([name, values]) => ({ name: asLine(name, 24), values }))
  const rest = [...values.slice(most).map(([, counts]) => counts), ...(other === undefined ? [] : [other])]
  const left = (rest[0] ?? []).map((_, i) => rest.reduce((all, counts) => all + (counts[i] ?? 0), 0))
  return sum(left) === 0 ? kept : [...kept, { name: 'others', values: left }]
}
