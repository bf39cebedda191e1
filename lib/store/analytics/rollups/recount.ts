/**
 * Compares rollups with the traces they summarize, and recounts days from scratch.
 *
 * A comparison is one statement and therefore sees one snapshot. A recount of a day is one transaction. The transaction
 * deletes the day's rollups, and adds to rollup_news the difference between the day's traces and the amounts already in
 * rollup_news. The next fold restores the rollups from rollup_news. The result is exact even during concurrent writes.
 * Each write changes traces and rollup_news by the same amount in one transaction, so the difference is the same in
 * every snapshot. The lock on the project's rollups prevents concurrent folds.
 */
import type { Sql } from 'postgres'
import { AMOUNTS } from '../../../rollups/amounts.ts'
import { isBalanced, isCoarseInSql, readHistogram } from '../../../rollups/latency.ts'
import { LEVELS, levelArray, levelsOf } from '../../../rollups/levels.ts'
import { inTransaction } from '../../transactions.ts'
import { forgetUsageOf } from '../usage/forgotten-sums.ts'
import { ANYTHING, DELTA_NAMES, dayOf, deltaInSql, environmentKeyInSql, hourOf, lockRollups, SUMS } from './deltas.ts'
import { DAY_LEVELS, forgetFortnights, fortnightLevelOf, fortnightOf } from './fortnights.ts'
import { forgetUsersOf } from './users.ts'

const { hour, day } = LEVELS
const arrayOf = (...levels: readonly string[]): string => `'{${levels.join(',')}}'::text[]`
const ENVIRONMENT_HOURS = arrayOf(hour.environment, hour.nameInEnvironment)

const listed = AMOUNTS.join(', ')
const taken = AMOUNTS.map(name => `-${name}`).join(', ')

/**
 * SQL for the amounts that rollups should contain: the amounts of traces started in [$2, $3), minus the amounts in
 * rollup_news.
 */
const WANTED = `
  select t.project_id, ${deltaInSql('t', 1)} from traces t
  where t.project_id = $1::int and t.started_at >= $2::timestamptz and t.started_at < $3::timestamptz
    and t.ended_at is not null
  union all
  select project_id, ${hourOf('started_at')}, family, name, user_id, ${taken} from rollup_news
  where project_id = $1::int and started_at >= $2::timestamptz and started_at < $3::timestamptz`

/** Returns the amount columns of a user's sums, with 0 in place of the latency, which is not stored for users. */
const users = (sign: '' | '-') => AMOUNTS.map(name => (name === 'latency' ? '0' : `${sign}${name}`)).join(', ')

/**
 * Compares fortnights with the sums of their days. For names, compares only the total across all names of an
 * environment or family, because a name has its own row only if capacity remained when the name first appeared. For
 * users, compares the total across all users.
 *
 * If only the histograms differ, and coarse buckets are involved (lib/rollups/latency.ts), traces may just have been
 * counted in a coarse bucket when they were added. Such differences are summed by level, and must be balanced.
 */
const WRONG_DAYS = `
  with hours as materialized (
    select started_at as hour, family, user_id is not null as has_user, ${SUMS} from (${WANTED}) wanted group by 1, 2, 3
  ), sides as (
    select level, hour as start, family as within, ${listed}
    from hours, unnest(${arrayOf(hour.family, hour.nameInFamily)}) as level
    union all
    select level, ${dayOf('hour')}, family, ${listed}
    from hours, unnest(${arrayOf(day.family, day.nameInFamily)}) as level
    union all
    select level, case when level = any (${ENVIRONMENT_HOURS}) then hour else ${dayOf('hour')} end,
      ${environmentKeyInSql('environment')}, ${listed}
    from hours left join trace_families f on f.project_id = $1::int and f.family = hours.family,
      unnest(${ENVIRONMENT_HOURS} || ${arrayOf(day.environment, day.nameInEnvironment)}) as level
    union all
    select level::text, start, within, ${taken} from rollups
    where project_id = $1::int and start >= $2::timestamptz and start < $3::timestamptz
    union all
    select ${fortnightLevelOf('d.level')}, f.start, d.within, ${AMOUNTS.map(name => `d.${name}`).join(', ')}
    from (
      select distinct start from rollups
      where project_id = $1::int and level = '${LEVELS.fortnight.environment}'
        and start >= $2::timestamptz and start < $3::timestamptz
    ) f join rollups d on d.project_id = $1::int and d.level = any (${DAY_LEVELS})
      and ${fortnightOf('d.start')} = f.start
    union all
    select 'users', ${dayOf('hour')}, 0, ${users('')} from hours where has_user
    union all
    select 'users', start, 0, ${users('-')} from user_sums
    where project_id = $1::int and start >= $2::timestamptz and start < $3::timestamptz
  )
  select ${dayOf('start')} as day, bool_or(is_wrong) as "isWrong", sum(latency)::text as latency from (
    select level, start, ${AMOUNTS.filter(name => name !== 'latency')
      .map(name => `sum(${name}) <> 0`)
      .join(' or ')} or not (${isCoarseInSql('sum(latency)')}) as is_wrong, sum(latency) as latency
    from sides group by level, start, within having ${ANYTHING}
  ) wrong group by 1, level order by day`

/**
 * Returns the days (UTC) whose rollups differ from the sums of their traces. Skips days whose traces are not counted
 * yet.
 */
export async function findWrongDays(sql: Sql, projectId: number): Promise<string[]> {
  const from = (await readUncounted(sql, projectId)) ?? '-infinity'
  const rows = await sql.unsafe<{ day: string; isWrong: boolean; latency: string }[]>(WRONG_DAYS, [
    projectId,
    from,
    'infinity'
  ])
  const wrong = rows.filter(({ isWrong, latency }) => isWrong || !isBalanced(readHistogram(latency)))
  return [...new Set(wrong.map(({ day }) => day))]
}

/**
 * Adds a day's difference to rollup_news. Takes each row's project from the rows that are read, not from $1, so that
 * the project's server runs the entire statement (test/fixtures/statements/lint.ts).
 */
const WRITE_DIFFERENCE = `
  insert into rollup_news (project_id, ${DELTA_NAMES.join(', ')})
  select project_id, started_at, family, name, user_id, ${SUMS} from (${WANTED}) wanted
  group by project_id, started_at, family, name, user_id having ${ANYTHING}`

/** Recounts a day's rollups from scratch. Traces may be written concurrently. */
export async function recountDay(sql: Sql, projectId: number, day: string): Promise<void> {
  const end = new Date(Date.parse(day) + DAY_MS).toISOString()
  await inTransaction(sql, async () => {
    await lockRollups(sql, projectId)
    await sql`
      delete from rollups
      where project_id = ${projectId} and level = any (${sql.unsafe(levelArray(levelsOf('hour', 'day')))})
        and start >= ${day} and start < ${end}`
    await forgetFortnights(sql, projectId, [day])
    await forgetUsersOf(sql, projectId, day)
    await forgetUsageOf(sql, projectId, day)
    await sql.unsafe(WRITE_DIFFERENCE, [projectId, day, end])
  })
}
const DAY_MS = 86_400_000

/**
 * Returns the time before which traces are not counted yet, possibly `infinity`; undefined if all traces are counted.
 */
async function readUncounted(sql: Sql, projectId: number): Promise<string | undefined> {
  const [row] = await sql<{ uncounted: string }[]>`
    select uncounted::text from rollup_history where project_id = ${projectId}`
  return row?.uncounted
}

/** Returns a project with uncounted traces from before migration 6; undefined if there is no such project. */
export async function findHistory(sql: Sql): Promise<number | undefined> {
  const [row] = await sql<{ projectId: number }[]>`
    select project_id as "projectId" from rollup_history order by project_id limit 1`
  return row?.projectId
}

/** Counts the newest uncounted day and records the progress. Returns false if all of the project's days are counted. */
export async function countOneDay(sql: Sql, projectId: number): Promise<boolean> {
  const uncounted = await readUncounted(sql, projectId)
  if (uncounted === undefined) return false
  const [row] = await sql<[{ day: string | null }]>`
    select ${sql.unsafe(dayOf('max(started_at)'))} as day from traces
    where project_id = ${projectId} and started_at < ${uncounted}::text::timestamptz`
  const { day } = row
  if (day === null) {
    await sql`delete from rollup_history where project_id = ${projectId}`
    return false
  }
  await recountDay(sql, projectId, day)
  await sql`
    update rollup_history set uncounted = least(uncounted, ${day}::timestamptz) where project_id = ${projectId}`
  return true
}
