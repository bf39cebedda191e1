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

/** For how many seconds no more attempts may be made; undefined if one may be. Nothing is written. */
export async function readWait(sql: Sql, subjects: readonly Subject[]): Promise<number | undefined> {
  const [row] = await sql<[{ waitS: number | null }]>`
    select ${waitS(sql)} from ${asked(sql, subjects)} join sign_in_attempts using (subject)
    where until > now() and attempts >= most`
  return seconds(row.waitS)
}

/** So many that are over are forgotten with each attempt that is counted. */
const FORGOTTEN_AT_ONCE = 100

/**
 * Counts an attempt, before it is made, for each subject. Returns for how many seconds no more may be made; undefined if
 * this one may be. Where one of the subjects has none left, nothing is written.
 */
export async function countAttempt(sql: Sql, subjects: readonly Subject[]): Promise<number | undefined> {
  // A statement of its own, whose locks are gone when the next one waits for others.
  await sql`
    delete from sign_in_attempts where subject in (
      select subject from sign_in_attempts where until <= now() order by until limit ${FORGOTTEN_AT_ONCE}
      for update skip locked)`
  const [row] = await sql<[{ waitS: number | null }]>`
    with asked as (
      select * from ${asked(sql, subjects)}
    ), spent as (
      select until from asked join sign_in_attempts using (subject) where until > now() and attempts >= most
    ), counted as (
      insert into sign_in_attempts as t (subject, attempts, until)
      select subject, 1, now() + ${WINDOW_MINUTES} * interval '1 minute' from asked where not exists (select from spent)
      on conflict (subject) do update set
        attempts = case when t.until <= now() then 1 else t.attempts + 1 end,
        until = case when t.until <= now() then excluded.until else t.until end
      returning subject, attempts, until
    )
    select ${waitS(sql)} from (
      select until from spent
      union all
      -- Of several at the same moment none sees what the others count.
      select until from counted join asked using (subject) where attempts > most
    ) full_ones`
  return seconds(row.waitS)
}

/** All statements lock the rows in the same order. */
function asked(sql: Sql, subjects: readonly Subject[]) {
  const ordered = subjects.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return sql`unnest(${ordered.map(({ name }) => name)}::text[], ${ordered.map(({ most }) => most)}::int[]) as a (subject, most)`
}

const waitS = (sql: Sql) => sql`ceil(extract(epoch from max(until) - now()))::int as "waitS"`

/** One that waited for another began before it, and so would wait for longer than the window. */
const seconds = (waitS: number | null): number | undefined =>
  waitS === null ? undefined : Math.min(Math.max(1, waitS), WINDOW_MINUTES * 60)

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
  readonly own: string
  readonly network: string | undefined
}

/**
 * Makes a session. Undefined if the stored password is no longer the one that was looked at, or the user is gone.
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
