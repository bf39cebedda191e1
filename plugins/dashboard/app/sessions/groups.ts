/** The lists of sessions and users: their kinds and query parameters, and how the parameters appear in the URL. */

export type GroupKind = 'sessions' | 'users'

export interface GroupQuery {
  /** Prefix by which ids are filtered. */
  readonly prefix?: string
  readonly env?: string
  /** Time range, for the list of users only. */
  readonly range?: string
  readonly after?: string
}

const NAMES = ['prefix', 'env', 'range', 'after'] as const

export function readGroupQuery(search: string): GroupQuery {
  const parameters = new URLSearchParams(search)
  return Object.fromEntries(
    NAMES.flatMap(name => {
      const value = parameters.get(name)
      return value ? [[name, value]] : []
    })
  )
}

/** Returns the query string for the page's URL and for the server. */
export function writeGroupQuery(query: GroupQuery): string {
  const parameters = new URLSearchParams()
  for (const name of NAMES) {
    const value = query[name]
    if (value !== undefined && value !== '') parameters.set(name, value)
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}
