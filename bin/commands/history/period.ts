/** Flags and queries that the commands for steps, failures and usage share. */
import type { QueryMembers } from '../../asking/asker.ts'
import { CONDITION_FLAGS, parseText, queryOf, readConditions } from '../traces/conditions.ts'

const { since, from, to, before, environment } = CONDITION_FLAGS

export const PERIOD_FLAGS = { since, from, to, before, environment }

/** Flags for the filters of the trace that a step or a failure belongs to. */
export const TRACE_FILTER_FLAGS = {
  'trace-name': { type: 'string', value: 'N', about: 'only steps in traces with this exact name' },
  tag: { ...CONDITION_FLAGS.tag, about: 'only steps in traces with this tag' },
  user: { ...CONDITION_FLAGS.user, about: "only steps in this user's traces" },
  session: { ...CONDITION_FLAGS.session, about: "only steps in this session's traces" }
} as const

type TraceFilterFlags = { readonly [name in keyof typeof TRACE_FILTER_FLAGS]?: string | undefined }

export const traceFilters = (flags: TraceFilterFlags): QueryMembers => ({
  traceName: parseText('trace-name', flags['trace-name']),
  tag: parseText('tag', flags.tag),
  userId: parseText('user', flags.user),
  sessionId: parseText('session', flags.session)
})

type PeriodFlags = { readonly [name in keyof typeof PERIOD_FLAGS]?: string | undefined }

/** Returns the times and the environment as a query. */
export function periodQuery(flags: PeriodFlags): QueryMembers {
  const { since, from, to, before, environment } = flags
  const others = { tag: undefined, status: undefined, name: undefined, model: undefined }
  const people = { session: undefined, user: undefined, errors: false }
  return queryOf(readConditions({ since, from, to, before, environment, ...others, ...people }))
}
