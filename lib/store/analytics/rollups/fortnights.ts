/**
 * Fortnights are 14 days of rollups added up once more, for readers of a year. Folds mostly change the present day. So
 * a fortnight is made from its days when it is over, and the transaction that changes one of its days deletes it. Each
 * snapshot has either fortnights that are the sums of their days, or their days alone.
 */
import type { Sql } from 'postgres'
import { AMOUNTS } from '../../../rollups/amounts.ts'
import { GROUPS, LEVELS, levelArray, levelsOf } from '../../../rollups/levels.ts'
import { inTransaction } from '../../transactions.ts'
import { lockRollups } from './lock.ts'
import { held, ORIGIN } from './news.ts'

/**
 * SQL of the level of fortnights, as a text, that sums a level of days. It avoids `case level when`, which
 * test/fixtures/statements/lint.ts refuses.
 */
export const fortnightLevelOf = (level: string): string => {
  const cases = GROUPS.map(group => `when ${level} = '${LEVELS.day[group]}' then '${LEVELS.fortnight[group]}'`)
  return `case ${cases.join(' ')} end`
}
/** SQL of an array of the levels of days. */
export const DAY_LEVELS = levelArray(levelsOf('day'))
const FORTNIGHT_LEVELS = levelArray(levelsOf('fortnight'))

/** SQL of when the fortnight of a time began. */
export const fortnightOf = (time: string): string => `date_bin('14 days', ${time}, ${ORIGIN})`

/** A fortnight is made this long after its end: most late traces have come by then. */
const PAUSE_MS = 86_400_000

/** The newest fortnight that is over and not made, of those with any traces. */
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

/** Makes a fortnight that is missing. False if none is. */
export async function makeFortnight(sql: Sql, projectId: number, now = Date.now()): Promise<boolean> {
  return inTransaction(sql, async () => {
    await lockRollups(sql, projectId)
    const [row] = await sql.unsafe<{ start: string }[]>(FIND, [projectId, (now - PAUSE_MS) / 1000], { prepare: true })
    if (row === undefined) return false
    await sql.unsafe(MAKE, [projectId, row.start], { prepare: true })
    return true
  })
}

/** Takes fortnights away whose days change. The lock of the project's rollups must be held. */
export async function forgetFortnights(sql: Sql, projectId: number, times: readonly string[]): Promise<void> {
  await sql.unsafe(FORGET, [projectId, times as string[]], { prepare: true })
}

const FORGET = `
  delete from rollups
  where project_id = $1::int and level = any (${FORTNIGHT_LEVELS})
    and start = any (array(select distinct ${fortnightOf('time')} from unnest($2::timestamptz[]) as time))`

/** All projects, any of which may lack fortnights. */
export async function readProjectIds(sql: Sql): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`select id from projects order by id`
  return rows.map(({ id }) => id)
}
