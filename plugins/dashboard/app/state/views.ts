import type { View } from '../contract.ts'
import { describeTerm } from './filter-text.ts'
import { FILTER_NAMES } from './list-query.ts'
import { pathOf } from './route.ts'
import { isInstant, rangeName } from './time-range.ts'

/** Titles of the pages that support views, keyed by the pages' names on the server. */
export const VIEW_PAGES = { traces: 'Traces', overview: 'Overview', scores: 'Scores' } as const
export type ViewPage = keyof typeof VIEW_PAGES

export const MOST_NAME = 80

export function addressOf(slug: string, { page, query }: Pick<View, 'page' | 'query'>): string {
  return `${pathOf({ page, slug })}${query}`
}

/** Describes a query in one line: `status: error · duration ≥ 2 s · last 24 hours`. */
export function describeQuery(query: string): string {
  const parts = [...new URLSearchParams(query)].map(([name, value]) => {
    const filter = FILTER_NAMES.find(each => each === name)
    if (filter !== undefined) return describeFilter(describeTerm({ filter, value }))
    if (name === 'cols') return formatColumns(value.split(',').length)
    if (name === 'range') return rangeName(value).toLowerCase()
    if (name === 'runs') return 'runs only'
    if (name === 'sort' && value !== '') return `${value} first`
    return `${name}: ${isInstant(value) ? `${value.slice(0, 16).replace('T', ' ')} UTC` : value}`
  })
  return parts.length === 0 ? 'no filters' : parts.join(' · ')
}

/** Bounds state their own sign, such as `≥ 2 s`. */
const describeFilter = ({ title, value }: ReturnType<typeof describeTerm>): string =>
  `${title.toLowerCase()}${/^[≤≥]/.test(value) ? '' : ':'} ${value}`

const formatColumns = (count: number): string => (count === 1 ? '1 column' : `${count} columns`)

/** Sorts this page's views first. Within each group, private views precede shared views. */
export function inOrder(views: readonly View[], page: ViewPage): View[] {
  const rank = (view: View) => Number(view.page !== page) * 2 + Number(view.shared)
  return [...views].sort((one, other) => rank(one) - rank(other))
}
