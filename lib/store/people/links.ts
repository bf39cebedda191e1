/** Creates and redeems single-use sign-in links. */
import type { Sql } from 'postgres'
import type { Attempts } from '../../database/sql-access.ts'
import { auditOf } from '../audit.ts'
import { makingSession, type NewSession, userOfSession } from './sessions.ts'

/** Link lifetimes in minutes. Invitations last longer because a recipient may read an invitation a day later. */
export const LINK_MINUTES = 15
export const INVITATION_MINUTES = 24 * 60

/** Returns a statement step that stores a link for each user in `source`, which has the column user_id. */
export const storingLink = (sql: Sql, digest: string, minutes: number, source: ReturnType<Sql>) => sql`
  insert into sign_in_links (digest, user_id, expires_at)
  select ${digest}::bytea, user_id, now() + ${minutes} * interval '1 minute' from ${source}`

/** Stores a link for a user and deletes expired links. */
export async function insertLink(sql: Sql, userId: number, digest: string, by: number | null): Promise<void> {
  await sql`
    with expired as (
      delete from sign_in_links where expires_at <= now()
    ), person as (
      select id as user_id from users where id = ${userId}
    ), linked as (
      ${storingLink(sql, digest, LINK_MINUTES, sql`person`)}
    )
    ${auditOf(sql, { by, action: 'link.make', adding: 'user' }, sql`person`)}`
}

/**
 * Deletes a link and creates a session, or does neither. Returns the user's id; undefined if the link is unknown, was
 * already used, has expired, or belongs to a user other than `only` (if set).
 */
export async function signInByLink(
  sql: Sql,
  link: string,
  session: NewSession,
  attempts: Attempts = { sent: false },
  only: number | undefined = undefined
): Promise<number | undefined> {
  if (attempts.sent) {
    const userId = await userOfSession(sql, session.digest)
    if (userId !== undefined) return userId
  }
  attempts.sent = true
  const [row] = await sql<{ userId: number }[]>`
    with used as (
      delete from sign_in_links where digest = ${link}::bytea and expires_at > now()
        and user_id = coalesce(${only ?? null}::int, user_id)
      returning user_id
    ), ${makingSession(sql, session, { means: 'link' }, sql`used`)}
    select user_id as "userId" from made`
  return row?.userId
}
