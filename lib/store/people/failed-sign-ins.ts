/** Records failed sign-ins in the audit log. */
import type { Sql } from 'postgres'
import { WINDOW_MINUTES } from './attempts.ts'

export interface FailedSignIn {
  /** The user whose password or second factor was tried; null if there is no such user. */
  readonly userId: number | null
  readonly client: string
  readonly means: 'password' | 'factor' | 'link' | 'oidc'
  readonly reason?: string | undefined
}

/**
 * Records a failed sign-in. Repeated failures of one user from one client within a quarter of an hour share one entry,
 * which counts the attempts, so that guessing cannot fill the log. Takes as long for an unknown address as for a known
 * one. The text typed as an address is not stored, because people sometimes type a password there.
 */
export async function noteFailedSignIn(sql: Sql, { userId, client, means, reason }: FailedSignIn): Promise<void> {
  const detail = JSON.stringify({ means, ...(reason !== undefined && { reason }), attempts: 1 })
  await sql`
    with recent as (
      select id from (
        select id, user_id, at, detail from audit where action = 'sign-in.fail' and client = ${client}
        order by id desc limit 50
      ) newest
      where user_id is not distinct from ${userId}::int and detail ->> 'means' = ${means}
        and at > now() - ${WINDOW_MINUTES} * interval '1 minute'
      order by id desc limit 1
    ), counted as (
      update audit a set detail =
        (a.detail::jsonb || jsonb_build_object('attempts', (a.detail ->> 'attempts')::int + 1))::json
      from recent where a.id = recent.id
      returning a.id
    )
    insert into audit (user_id, action, detail, client)
    select ${userId}::int, 'sign-in.fail', ${detail}::json, ${client} where not exists (select from counted)`
}

/**
 * Records that sign-ins from a client fail, once per sign-in method and quarter of an hour. Further failures are not
 * counted.
 */
export async function noteFirstFailure(sql: Sql, { client, means, reason }: FailedSignIn): Promise<void> {
  const detail = JSON.stringify({ means, ...(reason !== undefined && { reason }) })
  await sql`
    insert into audit (action, detail, client)
    select 'sign-in.fail', ${detail}::json, ${client}
    where not exists (
      select from (
        select at, detail from audit where action = 'sign-in.fail' and client = ${client} order by id desc limit 50
      ) newest
      where detail ->> 'means' = ${means} and at > now() - ${WINDOW_MINUTES} * interval '1 minute'
    )`
}
