/** Summarises each name's scores: count, sources, distribution and change over time. Contains no SQL. */

export const SOURCES = ['api', 'annotation', 'eval'] as const
export type SummarySource = (typeof SOURCES)[number]

/** Scores with the same name, data type, source and step. */
export interface ScoreGroup {
  readonly name: string
  readonly dataType: string
  readonly source: string
  /** Index of the step. */
  readonly step: number
  readonly values: readonly (number | string | boolean)[]
}

export interface HistogramBar {
  /** Inclusive lower bound; `to` is exclusive. `from` and `to` are equal if the bar counts a single value. */
  readonly from: number
  readonly to: number
  readonly count: number
}

export interface ScoreSummary {
  readonly name: string
  readonly dataType: string
  readonly count: number
  /** Overall mean, or for booleans the share of true values. Null for categories. */
  readonly average: number | null
  /** Mean per step, or for booleans the share of true values. Null for steps without scores, and for categories. */
  readonly mean: readonly (number | null)[]
  /** Counts per step of the most frequent values, for categories and booleans. */
  readonly shares: Readonly<Record<string, readonly number[]>>
  /** Counts per step, summed across the categories and booleans that `shares` omits. */
  readonly other: readonly number[]
  /** Distribution of numeric values; empty for other data types. */
  readonly histogram: readonly HistogramBar[]
  readonly sources: Readonly<Record<SummarySource, number>>
}

/** Maximum number of names in a response. The most frequent names are listed. */
const MOST_NAMES = 200
/** Maximum number of values per name. The most frequent values are listed. */
const MOST_VALUES = 20
/**
 * Maximum number of counts per name, over all values and steps. The more steps there are, the fewer values are listed.
 */
const MOST_COUNTS = 8000
/**
 * Maximum number of distinct values that get one bar each. More distinct values are grouped into about MOST_BARS bars.
 */
const MOST_SINGLE = 12
const MOST_BARS = 20

/** Summarises each name, most frequent first. A name with values of two data types gets two entries. */
export function summariseScores(groups: readonly ScoreGroup[], steps: number): ScoreSummary[] {
  const names = new Map<string, ScoreGroup[]>()
  for (const group of groups) {
    const key = `${group.dataType} ${group.name}`
    const same = names.get(key)
    if (same === undefined) names.set(key, [group])
    else same.push(group)
  }
  return Array.from(names.values(), same => summarise(same, steps))
    .sort(
      (a, b) => b.count - a.count || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.dataType < b.dataType ? -1 : 1)
    )
    .slice(0, MOST_NAMES)
}

function summarise(groups: readonly ScoreGroup[], steps: number): ScoreSummary {
  const { name, dataType } = groups[0]!
  const counts = Array<number>(steps).fill(0)
  const sums = Array<number>(steps).fill(0)
  const byValue = new Map<string, number[]>()
  const sources: Record<SummarySource, number> = { api: 0, annotation: 0, eval: 0 }
  const numbers: number[] = []
  let count = 0
  for (const { source, step, values } of groups) {
    count += values.length
    sources[source as SummarySource] += values.length
    counts[step]! += values.length
    for (const value of values) {
      if (typeof value === 'number') numbers.push(value)
      if (typeof value !== 'string') sums[step]! += Number(value)
      if (typeof value !== 'number') {
        const key = String(value)
        const each = byValue.get(key) ?? Array<number>(steps).fill(0)
        each[step]!++
        byValue.set(key, each)
      }
    }
  }
  const frequent = [...byValue].sort(([a, x], [b, y]) => total(y) - total(x) || (a < b ? -1 : 1))
  const most = Math.min(MOST_VALUES, Math.floor(MOST_COUNTS / steps))
  const rest = frequent.slice(most)
  return {
    name,
    dataType,
    count,
    average: dataType === 'categorical' ? null : total(sums) / count,
    mean: counts.map((each, i) => (each === 0 || dataType === 'categorical' ? null : sums[i]! / each)),
    shares: Object.fromEntries(frequent.slice(0, most)),
    other: counts.map((_, i) => rest.reduce((sum, [, each]) => sum + each[i]!, 0)),
    histogram: histogramOf(numbers),
    sources
  }
}

const total = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0)

/**
 * Returns one bar per distinct value if there are few distinct values, and otherwise bars of equal width whose bounds
 * are round numbers.
 */
export function histogramOf(numbers: readonly number[]): HistogramBar[] {
  const counts = new Map<number, number>()
  for (const each of numbers) counts.set(each === 0 ? 0 : each, (counts.get(each) ?? 0) + 1)
  const values = [...counts].sort(([a], [b]) => a - b)
  if (values.length <= MOST_SINGLE) return values.map(([value, count]) => ({ from: value, to: value, count }))
  const [lowest] = values[0]!
  const [highest] = values.at(-1)!
  const width = roundWidth(highest / MOST_BARS - lowest / MOST_BARS)
  const bound = (i: number) => Number((i * width).toPrecision(12))
  let first = Math.floor(lowest / width)
  while (bound(first) > lowest) first--
  const bars = [{ from: bound(first), to: bound(first + 1), count: 0 }]
  for (const [value, count] of values) {
    while (value >= bars.at(-1)!.to && bars.length <= 2 * MOST_BARS) {
      const i = first + bars.length
      bars.push({ from: bound(i), to: bound(i + 1), count: 0 })
    }
    bars.at(-1)!.count += count
  }
  return bars
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundWidth(width: number): number {
  const power = 10 ** Math.floor(Math.log10(width))
  const digit = [1, 2, 5].find(each => each * power >= width) ?? 10
  return digit * power
}
