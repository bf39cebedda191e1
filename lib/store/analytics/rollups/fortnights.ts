/**
 * Fortnights sum the rollups of 14 days, for queries that cover a year. Folds mostly change the current day, so a
 * fortnight is computed only after it has ended. Any later transaction that changes one of the days deletes the
 * fortnight. In every snapshot, a stored fortnight therefore equals the sum of its days.
 */
import type { Sql } from 'postgres'
import { AMOUNTS } from '../../../rollups/amounts.ts'
import { GROUPS, LEVELS, levelArray, levelsOf } from '../../../rollups/levels.ts'
import { inTransaction } from '../../transactions.ts'
import { held, lockRollups, ORIGIN } from './deltas.ts'

/**
 * Returns SQL, of type text, for the fortnight level that corresponds to the given day level. Avoids `case level when`,
 * which test/fixtures/statements/lint.ts rejects.
 */
export const fortnightLevelOf = (level: string): string => {
  const cases = GROUPS.map(group => `when ${level} = '${LEVELS.day[group]}' then '${LEVELS.fortnight[group]}'`)
  return `case ${cases.join(' ')} end`
}
export const DAY_LEVELS = levelArray(levelsOf('day'))
const FORTNIGHT_LEVELS = levelArray(levelsOf('fortnight'))

/** Returns SQL for the start of the fortnight that contains `time`. */
export const fortnightOf = (time: string): string => `date_bin('14 days', ${time}, ${ORIGIN})`

/** Delay between a fortnight's end and the computation of its sums. Most late traces have arrived by then. */
const PAUSE_MS = 86_400_000

/** Finds the newest fortnight that has traces, is over and is not computed yet. */
const FIND = `
  select ${fortnightOf('d.start')}::text as start from rollups d
  where d.project_id = $1::int and d.level = '${LEVELS.day.environment}'
    and d.start < ${fortnightOf('to_timestamp($2::float8)')}
    and not exists (
      select from rollups f
      where f.project_id = $1::int and f.level = '${LEVELS.fortnight.environment}'
        and f.start = ${fortnightOf('d.start')})
  order by d.start desc limit 1`

const MAKE = `
  insert into rollups (project_id, level, start, list, within, name, ${AMOUNTS.join(', ')})
  select project_id, (${fortnightLevelOf('level')})::"char", $2::text::timestamptz, list, within, min(name),
    ${AMOUNTS.map(name => held(name, `sum(${name})`)).join(', ')}
  from rollups
  where project_id = $1::int and level = any (${DAY_LEVELS})
    and start >= $2::text::timestamptz and start < $2::text::timestamptz + interval '14 days'
  group by project_id, level, within, list order by level, within, list`

/** Computes one missing fortnight. Returns false if none is missing. */
export async function makeFortnight(sql: Sql, projectId: number, now = Date.now()): Promise<boolean> {
  return inTransaction(sql, async () => {
    await lockRollups(sql, projectId)
    const [row] = await sql.unsafe<{ start: string }[]>(FIND, [projectId, (now - PAUSE_MS) / 1000], { prepare: true })
    if (row === undefined) return false
    await sql.unsafe(MAKE, [projectId, row.start], { prepare: true })
    return true
  })
}

/** Deletes the fortnights that contain `times`. The caller must hold the lock on the project's rollups. */
export async function forgetFortnights(sql: Sql, projectId: number, times: readonly string[]): Promise<void> {
  await sql.unsafe(FORGET, [projectId, times as string[]], { prepare: true })
}

const FORGET = `
  delete from rollups
  where project_id = $1::int and level = any (${FORTNIGHT_LEVELS})
    and start = any (array(select distinct ${fortnightOf('time')} from unnest($2::timestamptz[]) as time))`

/** Returns the ids of all projects, because any project may lack fortnights. */
export async function readProjectIds(sql: Sql): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`select id from projects order by id`
  return rows.map(({ id }) => id)
}
