/** Counts password attempts by person, device and network. */
import type { Sql } from 'postgres'

/** How long attempts are remembered, in minutes. */
export const WINDOW_MINUTES = 15

/** A person, device or network, and its maximum number of attempts within the window. */
export interface Subject {
  readonly name: string
  readonly most: number
}

/** Returns the seconds until another attempt is allowed; undefined if an attempt is allowed now. Writes nothing. */
export async function readWait(sql: Sql, subjects: readonly Subject[]): Promise<number | undefined> {
  const [row] = await sql<[{ waitS: number | null }]>`
    select ${waitS(sql)} from ${asked(sql, subjects)} join sign_in_attempts using (subject)
    where until > now() and attempts >= most`
  return seconds(row.waitS)
}

/** Maximum number of expired rows deleted when an attempt is counted. */
const FORGOTTEN_AT_ONCE = 100

/**
 * Counts an attempt for each subject before the attempt is made. Returns the seconds until another attempt is allowed;
 * undefined if this attempt is allowed. If a subject has no attempts left, nothing is counted.
 */
export async function countAttempt(sql: Sql, subjects: readonly Subject[]): Promise<number | undefined> {
  // Runs as a separate statement, so that the locks of this deletion are released before the next statement waits for
  // locks.
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
      -- Concurrent statements do not see each other's counts.
      select until from counted join asked using (subject) where attempts > most
    ) full_ones`
  return seconds(row.waitS)
}

/** Sorts subjects, so that all statements lock rows in the same order. */
function asked(sql: Sql, subjects: readonly Subject[]) {
  const ordered = subjects.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return sql`unnest(${ordered.map(({ name }) => name)}::text[], ${ordered.map(({ most }) => most)}::int[]) as a (subject, most)`
}

const waitS = (sql: Sql) => sql`ceil(extract(epoch from max(until) - now()))::int as "waitS"`

/**
 * Caps the wait at the window's length. A statement that waited for a lock uses the time at which the statement
 * started, so the computed wait could be longer.
 */
const seconds = (waitS: number | null): number | undefined =>
  waitS === null ? undefined : Math.min(Math.max(1, waitS), WINDOW_MINUTES * 60)
