/** Flags and queries that the commands on steps, failures and sums share. */
import type { QueryMembers } from '../../asking/asker.ts'
import { CONDITION_FLAGS, readConditions } from '../traces/conditions.ts'
import { queryOf } from '../traces/read.ts'

const { since, from, to, before, environment } = CONDITION_FLAGS

export const PERIOD_FLAGS = { since, from, to, before, environment }

type PeriodFlags = { readonly [name in keyof typeof PERIOD_FLAGS]?: string | undefined }

/** Returns the times and the environment as a query. */
export function periodQuery(flags: PeriodFlags): QueryMembers {
  const { since, from, to, before, environment } = flags
  const others = { tag: undefined, status: undefined, name: undefined, model: undefined }
  const people = { session: undefined, user: undefined, errors: false }
  return queryOf(readConditions({ since, from, to, before, environment, ...others, ...people }))
}
