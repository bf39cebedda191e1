/** Lists of sessions and of users: what the server answers, and what of them is in the address. */

export type GroupKind = 'sessions' | 'users'

export interface GroupQuery {
  /** How the id begins. */
  readonly prefix?: string
  readonly env?: string
  /** Only users are listed by time. */
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

/** The search of an address, which is the server's query as well. */
export function writeGroupQuery(query: GroupQuery): string {
  const parameters = new URLSearchParams()
  for (const name of NAMES) {
    const value = query[name]
    if (value !== undefined && value !== '') parameters.set(name, value)
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}
