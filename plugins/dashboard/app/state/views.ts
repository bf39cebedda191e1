import type { View } from '../contract.ts'
import { describeTerm } from './filter-text.ts'
import { FILTER_NAMES } from './list-query.ts'
import { pathOf } from './route.ts'

/** Titles of the pages that support views, keyed by the pages' names on the server. */
export const VIEW_PAGES = { traces: 'Traces', overview: 'Overview', scores: 'Scores' } as const
export type ViewPage = keyof typeof VIEW_PAGES

export const MOST_NAME = 80

export function addressOf(slug: string, { page, query }: Pick<View, 'page' | 'query'>): string {
  return `${pathOf({ page, slug })}${query}`
}

/** Describes a view's query in one line: `status error · duration ≥ 2 s · range 24h`. */
export function describeQuery(query: string): string {
  const parts = [...new URLSearchParams(query)].map(([name, value]) => {
    if (name === 'cols') return `${value.split(',').length} columns`
    const bound = BOUNDS.find(each => each === name)
    if (bound === undefined) return `${name} ${value}`
    const { title, value: shown } = describeTerm({ filter: bound, value })
    return `${title.toLowerCase()} ${shown}`
  })
  return parts.length === 0 ? 'no filters' : parts.join(' · ')
}

/** Filters whose values need a unit. */
const BOUNDS = FILTER_NAMES.filter(name => /^(?:min|max)[A-Z]/.test(name))

/** Sorts this page's views first. Within each group, private views precede shared views. */
export function inOrder(views: readonly View[], page: ViewPage): View[] {
  const rank = (view: View) => Number(view.page !== page) * 2 + Number(view.shared)
  return [...views].sort((one, other) => rank(one) - rank(other))
}
