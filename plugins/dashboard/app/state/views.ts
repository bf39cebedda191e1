import type { View } from '../contract.ts'
import { pathOf } from './route.ts'

/** Titles of the pages that support views, keyed by the pages' names on the server. */
export const VIEW_PAGES = { traces: 'Traces', overview: 'Overview', scores: 'Scores' } as const
export type ViewPage = keyof typeof VIEW_PAGES

export const MOST_NAME = 80

export function addressOf(slug: string, { page, query }: Pick<View, 'page' | 'query'>): string {
  return `${pathOf({ page, slug })}${query}`
}

/** Describes a view's query in one line: `status error · range 24h`. */
export function describeQuery(query: string): string {
  const parts = [...new URLSearchParams(query)].map(([name, value]) =>
    name === 'cols' ? `${value.split(',').length} columns` : `${name} ${value}`
  )
  return parts.length === 0 ? 'everything' : parts.join(' · ')
}

/** Sorts this page's views first. Within each group, private views precede shared views. */
export function inOrder(views: readonly View[], page: ViewPage): View[] {
  const rank = (view: View) => Number(view.page !== page) * 2 + Number(view.shared)
  return [...views].sort((one, other) => rank(one) - rank(other))
}
