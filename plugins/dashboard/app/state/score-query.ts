/** The query of the scores page, as written in the page's URL and in requests to the server. */
import { readParameters, searchOf } from './route.ts'
import { CHART_RANGES, isInstant } from './time-range.ts'

/** The page's choices. All except `table` have the same names as in the server's query. */
export interface ScorePageQuery {
  readonly name?: string
  readonly env?: string
  /** `score` if times are of the scores; by default, times are of their traces. */
  readonly by?: string
  readonly range?: string
  readonly from?: string
  readonly to?: string
  /** `value`, `min`, `below` and `source` limit the list of scores. */
  readonly value?: string
  readonly min?: string
  readonly below?: string
  readonly source?: string
  readonly after?: string
  /** Whether charts are shown as tables. */
  readonly table?: string
}

const TIME = ['range', 'from', 'to'] as const
const PICKS = ['value', 'min', 'below', 'source'] as const
/** Choices that limit the list of scores. */
export type ScorePicks = Pick<ScorePageQuery, (typeof PICKS)[number]>
const NAMES = ['name', 'env', 'by', ...TIME, ...PICKS, 'after', 'table'] as const

export function readScoreQuery(search: string): ScorePageQuery {
  const query = readParameters(search, NAMES)
  for (const name of ['from', 'to'] as const)
    if (query[name] !== undefined && !isInstant(query[name])) delete query[name]
  if (query.from !== undefined || query.to !== undefined || !CHART_RANGES.some(each => each === query.range))
    delete query.range
  return query
}

export const writeScoreQuery = (query: ScorePageQuery): string => searchOf(query, NAMES)

export const isByScore = ({ by }: ScorePageQuery): boolean => by === 'score'

/** Returns the server's query string, with the choices that `names` lists. */
const asked = (query: ScorePageQuery, offset: number, names: readonly (typeof NAMES)[number][]): string =>
  searchOf({ ...query, by: isByScore(query) ? 'score' : 'trace', offset: String(offset) }, [...names, 'by', 'offset'])
export const seriesQuery = (query: ScorePageQuery, offset: number): string =>
  asked(query, offset, ['name', 'env', ...TIME])
export const disagreementQuery = seriesQuery
export const scoredQuery = (query: ScorePageQuery, offset: number): string =>
  asked(query, offset, ['name', 'env', ...TIME, ...PICKS, 'after'])

/** Returns the query with the given changes, reset to the list's first page. */
export function withChoice(query: ScorePageQuery, change: ScorePageQuery): ScorePageQuery {
  const { after: _, ...rest } = query
  return { ...rest, ...change }
}

export function withPicks(query: ScorePageQuery, picks: ScorePicks): ScorePageQuery {
  const { value: _, min: __, below: ___, source: ____, ...rest } = withChoice(query, {})
  return { ...rest, ...picks }
}

export const hasPicks = (query: ScorePageQuery): boolean => PICKS.some(name => query[name] !== undefined)

/** Returns the query with charts shown as tables if `asTable` is true. */
export function withTable({ table: _, ...rest }: ScorePageQuery, asTable: boolean): ScorePageQuery {
  return asTable ? { ...rest, table: '1' } : rest
}

/** Returns the query limited to one time step. */
export function withStep(
  query: ScorePageQuery,
  { starts, to }: { readonly starts: readonly string[]; readonly to: string },
  at: number
): ScorePageQuery {
  const { range: _, ...rest } = withChoice(query, {})
  const end = starts[at + 1]
  // The range includes both of its ends.
  return { ...rest, from: starts[at]!, to: end === undefined ? to : new Date(Date.parse(end) - 1).toISOString() }
}
