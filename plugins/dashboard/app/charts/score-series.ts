/** Scores over time as the server counts them, and what of the page of scores is in its address. */
import type { DataType, Score, ScoreValue, TraceSummary } from '../answers.ts'
import { isInstant } from '../state/time.ts'
import { formatScore } from '../ui/format.ts'
import type { Axis, Step } from './axis.ts'

export const SOURCES = { api: 'API', annotation: 'people', eval: 'evaluators' } as const
export type Source = keyof typeof SOURCES

export interface ScoreOverTime {
  readonly name: string
  readonly dataType: DataType
  readonly count: number
  readonly average: number | null
  readonly mean: readonly (number | null)[]
  readonly shares: Readonly<Record<string, readonly number[]>>
  readonly other: readonly number[]
  readonly histogram: readonly { readonly from: number; readonly to: number; readonly count: number }[]
  readonly sources: Readonly<Record<Source, number>>
}

export interface ScoreSeries {
  readonly from: string
  readonly to: string
  readonly step: Step
  readonly starts: readonly string[]
  readonly names: readonly ScoreOverTime[]
  readonly newest: number | null
}

export interface ScoredTraces {
  readonly scores: readonly Score[]
  readonly traces: readonly TraceSummary[]
  readonly nextCursor: string | null
}

export interface Disagreement {
  readonly pairs: readonly {
    readonly a: Source
    readonly b: Source
    readonly dataType: DataType
    readonly both: number
    readonly differing: number
    readonly meanDifference: number | null
    readonly meanDistance: number | null
  }[]
  readonly differences: readonly {
    readonly traceId: string
    readonly spanId: string | null
    readonly values: Readonly<Partial<Record<Source, ScoreValue>>>
  }[]
  readonly traces: readonly TraceSummary[]
  readonly newest: number | null
}

export const RANGES = ['1h', '6h', '24h', '7d', '30d', '90d', '1y'] as const
export const DEFAULT_RANGE = '7d'

/** What is shown; its names are those of the server's query, but for `table`. */
export interface ScoreQuery {
  readonly name?: string
  readonly env?: string
  readonly range?: string
  readonly from?: string
  readonly to?: string
  /** Which scores are listed. */
  readonly value?: string
  readonly min?: string
  readonly below?: string
  readonly source?: string
  readonly after?: string
  /** Charts are shown as tables. */
  readonly table?: string
}

const TIME = ['range', 'from', 'to'] as const
const PICKS = ['value', 'min', 'below', 'source'] as const
const NAMES = ['name', 'env', ...TIME, ...PICKS, 'after', 'table'] as const

export function readScoreQuery(search: string): ScoreQuery {
  const parameters = new URLSearchParams(search)
  const query: Partial<Record<(typeof NAMES)[number], string>> = {}
  for (const name of NAMES) {
    const value = parameters.get(name)
    if (value !== null && value !== '') query[name] = value
  }
  for (const name of ['from', 'to'] as const)
    if (query[name] !== undefined && !isInstant(query[name])) delete query[name]
  if (query.from !== undefined || query.to !== undefined || !RANGES.some(each => each === query.range))
    delete query.range
  return query
}

function written(query: ScoreQuery, names: readonly (typeof NAMES)[number][]): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const name of names) if (query[name]) parameters.set(name, query[name])
  return parameters
}

export function writeScoreQuery(query: ScoreQuery): string {
  const text = written(query, NAMES).toString()
  return text === '' ? '' : `?${text}`
}

/** The queries of the server: of charts, of where sources disagree, and of the list. */
export function seriesQuery(query: ScoreQuery, offset: number): string {
  const parameters = written(query, ['name', 'env', ...TIME])
  parameters.set('offset', String(offset))
  return `?${parameters}`
}
export const disagreementQuery = (query: ScoreQuery): string => `?${written(query, ['name', 'env', ...TIME])}`
export const scoredQuery = (query: ScoreQuery): string =>
  `?${written(query, ['name', 'env', ...TIME, ...PICKS, 'after'])}`

/** Another choice of the page: the list begins at its first page again. */
export function withChoice(query: ScoreQuery, change: ScoreQuery): ScoreQuery {
  const { after: _, ...rest } = query
  return { ...rest, ...change }
}

/** The query with other picks than it has. */
export function withPicks(query: ScoreQuery, picks: Pick<ScoreQuery, (typeof PICKS)[number]>): ScoreQuery {
  const { value: _, min: __, below: ___, source: ____, ...rest } = withChoice(query, {})
  return { ...rest, ...picks }
}

export const hasPicks = (query: ScoreQuery): boolean => PICKS.some(name => query[name] !== undefined)

/** The time of a step alone. */
export function withStep(query: ScoreQuery, { starts, to }: ScoreSeries, at: number): ScoreQuery {
  const { range: _, ...rest } = withChoice(query, {})
  const end = starts[at + 1]
  // Both ends of a time are in it.
  return { ...rest, from: starts[at]!, to: end === undefined ? to : new Date(Date.parse(end) - 1).toISOString() }
}

export interface Bar {
  readonly name: string
  readonly count: number
  /** Undefined for what is counted together. */
  readonly picks: Pick<ScoreQuery, (typeof PICKS)[number]> | undefined
}

const sum = (counts: readonly number[]) => counts.reduce((total, each) => total + each, 0)

/** How the scores are spread: bars of numbers, else the values from the most frequent on. */
export function barsOf({ dataType, histogram, shares, other }: ScoreOverTime): Bar[] {
  if (dataType === 'numeric') {
    return histogram.map(({ from, to, count }) =>
      from === to
        ? { name: formatScore(from), count, picks: { value: String(from) } }
        : { name: `${formatScore(from)} – ${formatScore(to)}`, count, picks: { min: String(from), below: String(to) } }
    )
  }
  const values = Object.entries(shares).map(([value, counts]) => ({
    name: dataType === 'boolean' ? formatScore(value === 'true') : value,
    count: sum(counts),
    picks: { value }
  }))
  const rest = sum(other)
  return rest === 0 ? values : [...values, { name: 'other values', count: rest, picks: undefined }]
}

/** The axis of a histogram: each bar's name is at the bar, the ticks say where bars begin. */
export function histogramAxis(bars: readonly Bar[], most = 7): Axis {
  const every = Math.max(1, Math.ceil(bars.length / most))
  return {
    names: bars.map(({ name }) => name),
    ticks: bars.flatMap(({ name }, at) => (at % every === 0 ? [{ at, text: name.split(' – ')[0]! }] : []))
  }
}
