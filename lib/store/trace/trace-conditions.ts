/** Conditions on traces that commands take, as SQL: a trace must meet every one that is set. */
import type { Sql } from 'postgres'

export interface TraceConditions {
  /** Canonical timestamps: traces that started at `from` or later, and earlier than `before`. */
  readonly from?: string | undefined
  readonly before?: string | undefined
  /** As it is stored. */
  readonly environment?: string | undefined
  readonly tag?: string | undefined
  readonly status?: string | undefined
  readonly name?: string | undefined
  readonly model?: string | undefined
  readonly sessionId?: string | undefined
  readonly userId?: string | undefined
}

/** The conditions on the start. */
export const started = (sql: Sql, { from = '-infinity', before = 'infinity' }: TraceConditions) =>
  sql`started_at >= ${from} and started_at < ${before}`

/** The other conditions. */
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
