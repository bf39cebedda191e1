/** SQL for the conditions on traces that commands accept. A trace must meet every condition that is set. */
import type { Sql } from 'postgres'
import type { TraceFilters } from '../lists/trace-query.ts'

/** `from` and `to` are inclusive bounds of the start time; `before` is an exclusive bound. */
export interface TraceConditions extends Omit<TraceFilters, 'runsOnly'> {
  readonly before?: string | undefined
  /** Whether the trace must have the status `error` or a failed span. False is the same as undefined. */
  readonly errors?: boolean | undefined
  /** Whether the trace must have no score. False is the same as undefined. */
  readonly unscored?: boolean | undefined
  /** Tags of which the trace must have none. */
  readonly withoutTags?: readonly string[] | undefined
}

/** Returns the conditions on the start time. */
export const started = (
  sql: Sql,
  { from = '-infinity', to = 'infinity', before = 'infinity' }: Pick<TraceConditions, 'from' | 'to' | 'before'>
) => sql`started_at >= ${from} and started_at <= ${to} and started_at < ${before}`

/** Returns all conditions except those on the start time. */
export function fitting(
  sql: Sql,
  { environment, tag, status, errors = false, unscored = false, withoutTags, ...texts }: TraceConditions
) {
  const { name, model, sessionId, userId } = texts
  const equal = equalling(sql, { environment, status, name, model, session_id: sessionId, user_id: userId })
  const tagged = tag === undefined ? sql`` : sql`and tags @> array[${tag}]`
  const kept = sql`${unscored ? sql`and score_count = 0` : sql``} ${
    withoutTags === undefined ? sql`` : sql`and not coalesce(tags && ${withoutTags as string[]}::text[], false)`
  }`
  return sql`true ${equal} ${tagged} ${kept} ${errors ? sql`and (status = 'error' or error_count > 0)` : sql``}`
}

/** Returns the condition, with a leading `and`, for each column whose value is defined. */
export const equalling = (sql: Sql, values: Readonly<Record<string, string | undefined>>) =>
  Object.entries(values).map(([column, value]) => (value === undefined ? sql`` : sql`and ${sql(column)} = ${value}`))
