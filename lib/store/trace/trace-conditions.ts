/** SQL for the conditions on traces that commands accept. A trace must meet every condition that is set. */
import type { Sql } from 'postgres'
import type { TraceFilters } from '../lists/trace-query.ts'

/** `from` is an inclusive bound of the start time; `before` is an exclusive bound. */
export interface TraceConditions extends Omit<TraceFilters, 'to' | 'runsOnly'> {
  readonly before?: string | undefined
}

/** Returns the conditions on the start time. */
export const started = (sql: Sql, { from = '-infinity', before = 'infinity' }: TraceConditions) =>
  sql`started_at >= ${from} and started_at < ${before}`

/** Returns all conditions except those on the start time. */
export function fitting(sql: Sql, { environment, tag, status, name, model, sessionId, userId }: TraceConditions) {
  const equal = equalling(sql, { environment, status, name, model, session_id: sessionId, user_id: userId })
  return sql`true ${equal} ${tag === undefined ? sql`` : sql`and tags @> array[${tag}]`}`
}

/** Returns the condition, with a leading `and`, for each column whose value is defined. */
export const equalling = (sql: Sql, values: Readonly<Record<string, string | undefined>>) =>
  Object.entries(values).map(([column, value]) => (value === undefined ? sql`` : sql`and ${sql(column)} = ${value}`))
