/** Passwords of users, and how often they were tried. */
import type { Sql } from 'postgres'
import type { Attempts } from '../../database/sql-access.ts'
import { auditOf } from './audit.ts'
import { inTurn } from './in-turn.ts'
import { announcePeople, makingSession, type NewSession, userOfSession } from './sessions.ts'

/** For how long attempts are remembered. */
export const WINDOW_MINUTES = 15

/** Whose password is tried, or from where, and how often it may be within the window. */
export interface Subject {
  readonly name: string
  readonly most: number
}

/**
 * Counts an attempt, before it is made, for each subject. Returns for how many seconds no more may be made; undefined if
 * this one may be.
 */
export async function countAttempt(sql: Sql, subjects: readonly Subject[]): Promise<number | undefined> {
  const ordered = subjects.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const [row] = await sql<[{ waitS: number | null }]>`
    with asked as (
      select * from unnest(${ordered.map(({ name }) => name)}::text[], ${ordered.map(({ most }) => most)}::int[])
        as a (subject, most)
    ), forgotten as (
      delete from sign_in_attempts where until <= now() and subject not in (select subject from asked)
    ), counted as (
      insert into sign_in_attempts as t (subject, attempts, until)
      select subject, 1, now() + ${WINDOW_MINUTES} * interval '1 minute' from asked
      on conflict (subject) do update set
        attempts = case when t.until <= now() then 1 else least(t.attempts + 1, 1000000) end,
        until = case when t.until <= now() then excluded.until else t.until end
      returning subject, attempts, until
    )
    select ceil(extract(epoch from max(until) - now()))::int as "waitS"
    from counted join asked using (subject) where attempts > most`
  // One that waited for another began before it, and so would wait for longer than the window.
  return row.waitS === null ? undefined : Math.min(Math.max(1, row.waitS), WINDOW_MINUTES * 60)
}

/** The user with this address, and the stored password. */
export async function readPassword(
  sql: Sql,
  email: string
): Promise<{ readonly userId: number; readonly password: string | null } | undefined> {
  const [row] = await sql<{ userId: number; password: string | null }[]>`
    select id as "userId", password from users where email = ${email}`
  return row
}

/** Whether any user has a password. */
export async function hasPasswords(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select exists (select from users where password is not null) as has`
  return row.has
}

/** A password that was found right. */
export interface Proven {
  readonly userId: number
  /** The stored form that it was compared with. */
  readonly password: string
  /** The subject whose attempts are forgotten, and that of which only this one is: others may guess in the same network. */
  readonly person: string
  readonly network: string
}

/**
 * Makes a session. Undefined if the stored password is no longer the one that was looked at, or the user is gone.
 */
export async function signInByPassword(
  sql: Sql,
  { userId, password, person, network }: Proven,
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
      delete from sign_in_attempts where subject = ${person} and exists (select from proven)
    ), lessened as (
      update sign_in_attempts set attempts = attempts - 1
      where subject = ${network} and attempts > 0 and exists (select from proven)
    ), ${makingSession(sql, session, { means: 'password' }, sql`proven`)}
    select user_id as "userId" from made`
  return row?.userId
}

/**
 * Sets a user's password, or takes it away (null), and ends every session but the one to keep, and all links. False if the
 * user, or the session to keep, is gone.
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
