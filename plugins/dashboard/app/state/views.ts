/** Saved views: names for pages with their filters. */
import type { View } from '../contract.ts'
import { pathOf } from './route.ts'

/** The pages that have views, by the name that the server keeps, and how they are called. */
export const VIEW_PAGES = { traces: 'Traces', overview: 'Overview', scores: 'Scores' } as const
export type ViewPage = keyof typeof VIEW_PAGES

export const MOST_NAME = 80

export function addressOf(slug: string, { page, query }: Pick<View, 'page' | 'query'>): string {
  return `${pathOf({ page, slug })}${query}`
}

/** Describes the query of a view in one line: `status error · range 24h`. */
export function describeQuery(query: string): string {
  const parts = [...new URLSearchParams(query)].map(([name, value]) =>
    name === 'cols' ? `${value.split(',').length} columns` : `${name} ${value}`
  )
  return parts.length === 0 ? 'everything' : parts.join(' · ')
}

/** Own views first; those of this page before the others. */
export function inOrder(views: readonly View[], page: ViewPage): View[] {
  const rank = (view: View) => Number(view.page !== page) * 2 + Number(view.shared)
  return [...views].sort((one, other) => rank(one) - rank(other))
}
