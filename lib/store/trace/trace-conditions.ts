/** SQL for the conditions on traces that commands accept. A trace must meet every condition that is set. */
import type { Sql } from 'postgres'

export interface TraceConditions {
  /** Bounds of the start time, as canonical timestamps; `from` is inclusive, `before` is exclusive. */
  readonly from?: string | undefined
  readonly before?: string | undefined
  /** Stored form of the environment. */
  readonly environment?: string | undefined
  readonly tag?: string | undefined
  readonly status?: string | undefined
  readonly name?: string | undefined
  readonly model?: string | undefined
  readonly sessionId?: string | undefined
  readonly userId?: string | undefined
}

/** Returns the conditions on the start time. */
export const started = (sql: Sql, { from = '-infinity', before = 'infinity' }: TraceConditions) =>
  sql`started_at >= ${from} and started_at < ${before}`

/** Returns all conditions except those on the start time. */
export function fitting(sql: Sql, { environment, tag, status, name, model, sessionId, userId }: TraceConditions) {
  return sql`
    true
    ${environment === undefined ? sql`` : sql`and environment = ${environment}`}
    ${tag === undefined ? sql`` : sql`and tags @> array[${tag}]`}
    ${status === undefined ? sql`` : sql`and status = ${status}`}
    ${name === undefined ? sql`` : sql`and name = ${name}`}
    ${model === undefined ? sql`` : sql`and model = ${model}`}
    ${sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`}
    ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}`
}
