/** Chooses the groups that each chart of a split draws, with one colour per group. */
import type { SplitAnswer } from '../contract.ts'
import type { Metric } from './changes.ts'

type Line = SplitAnswer['lines'][number]
const COUNTS = ['traces', 'errors', 'inputTokens', 'outputTokens', 'costUsd'] as const

/** Maximum number of groups in a chart, and number of colours. */
const MOST_DRAWN = 5
const TONES = 6

export interface DrawnLine extends Pick<Line, 'key' | 'kind' | 'isOther' | (typeof COUNTS)[number]> {
  /** 95th percentiles; null for groups drawn as one, because percentiles cannot be combined. */
  readonly p95: Line['p95'] | null
  /** Number of the colour, from 1; undefined for all other groups. */
  readonly tone: number | undefined
}

const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0)

/**
 * Returns the number by which a chart ranks groups. Groups with few traces have arbitrary percentiles, so latency ranks
 * by traces.
 */
function rankedNumber({ traces, errors, inputTokens, outputTokens, costUsd }: Line, metric: Metric): number {
  switch (metric) {
    case 'traces':
    case 'latency':
      return sum(traces)
    case 'errors':
      return sum(errors)
    case 'tokens':
      return sum(inputTokens) + sum(outputTokens)
    case 'cost':
      return sum(costUsd)
  }
}

/** Returns the lines of each chart: the first groups by the chart's number, then all others as one. */
export function linesOfCharts<M extends Metric>(lines: readonly Line[], metrics: readonly M[]): Record<M, DrawnLine[]> {
  const tones = new Map<Line, number>()
  const charts = metrics.map(metric => {
    const ranked = lines
      .filter(({ isOther }) => !isOther)
      .map(line => ({ line, number: rankedNumber(line, metric) }))
      .sort((a, b) => b.number - a.number)
      .map(({ line }) => line)
    const drawn = ranked.slice(0, MOST_DRAWN)
    const rest = [...ranked.slice(MOST_DRAWN), ...lines.filter(({ isOther }) => isOther)]
    const own = tonesIn(drawn, tones)
    return [
      metric,
      [...drawn.map(line => ({ ...line, tone: own.get(line) })), ...(rest.length === 0 ? [] : [asOne(rest)])]
    ]
  })
  return Object.fromEntries(charts)
}

/** A group keeps its colour from earlier charts, unless two groups in a chart would have the same colour. */
function tonesIn(drawn: readonly Line[], known: Map<Line, number>): ReadonlyMap<Line, number> {
  const own = new Map<Line, number>()
  const isFree = (tone: number) => ![...own.values()].includes(tone)
  for (const line of drawn) {
    const tone = known.get(line)
    if (tone !== undefined && isFree(tone)) own.set(line, tone)
  }
  const all = Array.from({ length: TONES }, (_, i) => i + 1)
  for (const line of drawn) {
    if (own.has(line)) continue
    const unused = all.filter(isFree)
    const tone = unused.find(each => ![...known.values()].includes(each)) ?? unused[0]!
    own.set(line, tone)
    if (!known.has(line)) known.set(line, tone)
  }
  return own
}

function asOne(rest: readonly Line[]): DrawnLine {
  const [only] = rest
  const added = COUNTS.map(name => [name, only![name].map((_, at) => sum(rest.map(line => line[name][at]!)))])
  const counts = Object.fromEntries(added) as Pick<DrawnLine, (typeof COUNTS)[number]>
  return { ...counts, key: null, kind: null, isOther: true, tone: undefined, p95: rest.length === 1 ? only!.p95 : null }
}
