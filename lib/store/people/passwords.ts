/** Reads and sets users' passwords. */
import type { Sql } from 'postgres'
import type { Attempts } from '../../database/sql-access.ts'
import { auditOf } from '../audit.ts'
import { inTurn } from './in-turn.ts'
import { announcePeople, makingSession, type NewSession, userOfSession } from './sessions.ts'

/** Returns the id and the stored password of the user with this email address. */
export async function readPassword(
  sql: Sql,
  email: string
): Promise<{ readonly userId: number; readonly password: string | null } | undefined> {
  const [row] = await sql<{ userId: number; password: string | null }[]>`
    select id as "userId", password from users where email = ${email}`
  return row
}

export async function hasPasswords(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select exists (select from users where password is not null) as has`
  return row.has
}

/** A verified password. */
export interface Proven {
  readonly userId: number
  /** Stored hash that the entered password was compared with. */
  readonly password: string
  /**
   * Signing in clears all attempts counted for `own`. For `network`, signing in clears only this attempt, because other
   * people on the same network may be guessing passwords.
   */
  readonly own: string
  readonly network: string | undefined
}

/**
 * Creates a session and returns the user's id; undefined if the stored password has changed or the user no longer
 * exists.
 */
export async function signInByPassword(
  sql: Sql,
  { userId, password, own, network }: Proven,
  session: NewSession,
  attempts: Attempts = { sent: false }
): Promise<number | undefined> {
  if (attempts.sent) {
    const known = await userOfSession(sql, session.digest)
    if (known !== undefined) return known
  }
  attempts.sent = true
  const [row] = await sql<{ userId: number }[]>`
    with proven as (
      select id as user_id from users where id = ${userId} and password = ${password}
    ), forgotten as (
      delete from sign_in_attempts where subject = ${own} and exists (select from proven)
    ), lessened as (
      update sign_in_attempts set attempts = attempts - 1
      where subject = ${network ?? null} and attempts > 0 and exists (select from proven)
    ), ${makingSession(sql, session, { means: 'password' }, sql`proven`)}
    select user_id as "userId" from made`
  return row?.userId
}

/**
 * Sets or removes (null) a user's password, deletes the user's links, and ends all sessions except `keep`. Returns
 * false if the user or the session to keep no longer exists.
 */
export async function setPassword(
  sql: Sql,
  userId: number,
  password: string | null,
  { by, keep = null }: { readonly by: number | null; readonly keep?: string | null }
): Promise<boolean> {
  const action = password === null ? 'password.remove' : 'password.set'
  const [row] = await inTurn(
    sql,
    () => sql<[{ set: boolean }]>`
    with changed as (
      update users set password = ${password} where id = ${userId}
        and (${keep}::bytea is null or exists (select from web_sessions where digest = ${keep}::bytea))
      returning id as user_id, ${announcePeople(sql)} as announced
    ), ended as (
      delete from web_sessions where digest is distinct from ${keep}::bytea and user_id in (select user_id from changed)
    ), links as (
      delete from sign_in_links where user_id in (select user_id from changed)
    ), audited as (
      ${auditOf(sql, { by, action, adding: 'user' }, sql`changed`)}
    )
    select exists (select from changed) as set`
  )
  return row.set
}
