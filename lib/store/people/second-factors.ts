/** Second factors of users. Every write that changes what a session may do notifies all server processes. */
import type { Sql } from 'postgres'
import { type AuditEntry, auditStep } from '../audit.ts'
import { announcePeople } from './sessions.ts'

export interface StoredFactor {
  /** The encrypted secret (lib/people/factors/sealed.ts). */
  readonly secret: string
  readonly isConfirmed: boolean
  readonly recoveryCodes: number
}

export async function readFactor(sql: Sql, userId: number): Promise<StoredFactor | undefined> {
  const [row] = await sql<StoredFactor[]>`
    select secret, confirmed_at is not null as "isConfirmed", cardinality(recovery) as "recoveryCodes"
    from second_factors where user_id = ${userId}`
  return row
}

/** Stores a secret that is not confirmed yet. Returns false if the user has a confirmed one. */
export async function beginFactor(sql: Sql, userId: number, secret: string): Promise<boolean> {
  const rows = await sql`
    insert into second_factors (user_id, secret) values (${userId}, ${secret})
    on conflict (user_id) do update set secret = excluded.secret, created_at = now()
      where second_factors.confirmed_at is null
    returning user_id`
  return rows.length > 0
}

/** The acting user and client, for the audit log. */
type Acting = Pick<AuditEntry, 'by' | 'accountId' | 'client'>

export interface Confirmation {
  /** The encrypted secret that the code belongs to. Another enrolment may have replaced it. */
  readonly secret: string
  readonly step: number
  readonly recovery: readonly string[]
  /** The session to keep. All other sessions and all links end. */
  readonly keep: string | null
}

/** Turns on the second factor. Returns false if the secret was replaced or confirmed meanwhile. */
export async function confirmFactor(
  sql: Sql,
  userId: number,
  { secret, step, recovery, keep }: Confirmation,
  client: string
): Promise<boolean> {
  const [row] = await sql<[{ done: boolean }]>`
    with confirmed as (
      update second_factors set confirmed_at = now(), last_step = ${step}, recovery = ${recovery as string[]}::text[]
      where user_id = ${userId} and secret = ${secret} and confirmed_at is null
      returning user_id, ${announcePeople(sql)} as announced
    ), ended as (
      delete from web_sessions where digest is distinct from ${keep}::bytea
        and user_id in (select user_id from confirmed)
    ), links as (
      delete from sign_in_links where user_id in (select user_id from confirmed)
    )
    ${auditStep(sql, { by: userId, action: 'factor.enrol', client }, sql`confirmed`)}
    select exists (select from confirmed) as done`
  return row.done
}

/** Replaces a user's recovery codes. Returns false if the user has no second factor. */
export async function renewRecovery(sql: Sql, userId: number, digests: readonly string[], client: string) {
  const [row] = await sql<[{ done: boolean }]>`
    with renewed as (
      update second_factors set recovery = ${digests as string[]}::text[]
      where user_id = ${userId} and confirmed_at is not null returning user_id
    )
    ${auditStep(sql, { by: userId, action: 'factor.renew', client }, sql`renewed`)}
    select exists (select from renewed) as done`
  return row.done
}

/** Turns off a user's second factor. Returns false if there is none. */
export async function removeFactor(sql: Sql, userId: number, acting: Acting): Promise<boolean> {
  const [row] = await sql<[{ done: boolean }]>`
    with gone as (
      delete from second_factors where user_id = ${userId}
      returning user_id, confirmed_at, ${announcePeople(sql)} as announced
    ), known as (
      select user_id from gone where confirmed_at is not null
    )
    ${auditStep(sql, { ...acting, action: 'factor.remove', adding: 'user' }, sql`known`)}
    select exists (select from known) as done`
  return row.done
}
