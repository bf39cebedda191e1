/** The page of scores in its address, and what the server is asked for it. */
import { CHART_RANGES, isInstant } from './time-range.ts'

/** The choices of the page. All but `table` have the names of the server's query. */
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
/** The choices that narrow the list of scores. */
export type ScorePicks = Pick<ScoreQuery, (typeof PICKS)[number]>
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
  if (query.from !== undefined || query.to !== undefined || !CHART_RANGES.some(each => each === query.range))
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
function asked(query: ScoreQuery, offset: number, names: readonly (typeof NAMES)[number][]): string {
  const parameters = written(query, names)
  parameters.set('offset', String(offset))
  return `?${parameters}`
}
export const seriesQuery = (query: ScoreQuery, offset: number): string => asked(query, offset, ['name', 'env', ...TIME])
export const disagreementQuery = seriesQuery
export const scoredQuery = (query: ScoreQuery, offset: number): string =>
  asked(query, offset, ['name', 'env', ...TIME, ...PICKS, 'after'])

/** Another choice of the page: the list begins at its first page again. */
export function withChoice(query: ScoreQuery, change: ScoreQuery): ScoreQuery {
  const { after: _, ...rest } = query
  return { ...rest, ...change }
}

/** The query with other picks than it has. */
export function withPicks(query: ScoreQuery, picks: ScorePicks): ScoreQuery {
  const { value: _, min: __, below: ___, source: ____, ...rest } = withChoice(query, {})
  return { ...rest, ...picks }
}

export const hasPicks = (query: ScoreQuery): boolean => PICKS.some(name => query[name] !== undefined)

/** The time of a step alone. */
export function withStep(
  query: ScoreQuery,
  { starts, to }: { readonly starts: readonly string[]; readonly to: string },
  at: number
): ScoreQuery {
  const { range: _, ...rest } = withChoice(query, {})
  const end = starts[at + 1]
  // Both ends of a time are in it.
  return { ...rest, from: starts[at]!, to: end === undefined ? to : new Date(Date.parse(end) - 1).toISOString() }
}
