/** Lists of sessions and of users: what the server answers, and what of them is in the address. */

export type GroupKind = 'sessions' | 'users'

/** What the traces of a session or of a user add up to. */
export interface Group {
  readonly id: string
  readonly traces: number
  /** Whether there are more traces than were added up. */
  readonly isMore?: boolean
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number | null
  readonly firstAt: string
  readonly lastAt: string
}

export interface GroupPage {
  readonly groups: readonly Group[]
  readonly nextCursor: string | null
  /** Of users. Set if traces that started before it are not counted yet. */
  readonly countedFrom?: string | null
}

/** A user, with the sessions of their newest traces. */
export interface UserSums extends Group {
  readonly sessions: readonly Group[]
  readonly countedFrom: string | null
}

/** Users are added up over so long, the days being UTC. */
export const USER_RANGES = ['7d', '30d', '90d', '1y'] as const
export type UserRange = (typeof USER_RANGES)[number]
export const USER_RANGE: UserRange = '30d'

/** A session as its page asks for it. */
export interface SessionSums extends Group {
  readonly running: number
  readonly durationMs: number
  readonly users: readonly string[]
  readonly newest: number | null
}

export interface GroupQuery {
  /** How the id begins. */
  readonly prefix?: string
  readonly env?: string
  /** Of users. */
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
