/** How often passwords were tried, for whom and from where. */
import type { Sql } from 'postgres'

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

/** The most expired rows that each counted attempt deletes. */
const FORGOTTEN_AT_ONCE = 100

/**
 * Counts an attempt, before it is made, for each subject. Returns for how many seconds no more may be made; undefined
 * if this one may be. Where one of the subjects has none left, nothing is written.
 */
export async function countAttempt(sql: Sql, subjects: readonly Subject[]): Promise<number | undefined> {
  // A statement of its own, so that its locks are gone when the next one waits for others.
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
