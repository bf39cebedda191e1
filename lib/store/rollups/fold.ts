/**
 * The fold: what is in rollup_news is added up into rollups, and is in rollup_news no more. It is one transaction, so each
 * snapshot has a trace in one of the two, and readers add both. Only one fold of a project runs at a time, in whichever process.
 */
import type { Sql } from 'postgres'
import { AMOUNTS } from '../../rollups/amounts.ts'
import { findFull, findRoom, type Part } from '../../rollups/room.ts'
import { inTransaction } from '../transactions.ts'
import { dayOf, hourOf, SUMS, USER_SUMS } from './news.ts'

/** The first of the two keys of an advisory lock, the second is the project: who has it changes its rollups. */
const LOCK = 0x666f6c64

/** Waits for the lock of a project's rollups, and has it until the transaction ends. */
export async function lockRollups(sql: Sql, projectId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCK}, ${projectId})`
}

/** How many rows of news each project has. */
export function readWaiting(sql: Sql): Promise<{ projectId: number; rows: number }[]> {
  return sql`select project_id as "projectId", count(*) as rows from rollup_news group by project_id order by project_id`
}

/** A row that is to be added to rollups. The sums of numeric are texts. */
interface Addition extends Part {
  readonly traces: number
}

interface Taken extends Addition {
  /** How many rows of news were taken. */
  readonly taken: number
  /** In the first row, if there are any: what is added to users, as the text of a JSON array. */
  readonly users: string | null
}

/** Folds up to `most` rows of news of a project. Returns how many; 0 as well if another process is at it. */
export async function foldNews(sql: Sql, projectId: number, most: number): Promise<number> {
  return inTransaction(sql, async () => {
    const [{ locked }] = await sql<
      [{ locked: boolean }]
    >`select pg_try_advisory_xact_lock(${LOCK}, ${projectId}) as locked`
    if (!locked) return 0
    const rows = await sql.unsafe<Taken[]>(TAKE, [projectId, most], { prepare: true })
    const [first] = rows
    if (first === undefined) return 0
    const parts = await withRoom(
      sql,
      projectId,
      rows.map(({ taken: _, users: __, ...part }) => part)
    )
    await sql.unsafe(ADD, [projectId, JSON.stringify(parts)], { prepare: true })
    if (first.users !== null) await sql.unsafe(ADD, [projectId, first.users], { prepare: true })
    return first.taken
  })
}

const LEVELS = [
  { level: 'i', start: 'hour', list: 'kind' },
  { level: 'h', start: 'hour', list: 'family' },
  { level: 'n', start: dayOf('hour'), list: 'kind' },
  { level: 'd', start: dayOf('hour'), list: 'family' }
]

/** Takes news out, and adds them up by level. Rows of news never change, so they are found by their place in the table. */
const TAKE = `
  with gone as (
    delete from rollup_news where project_id = $1::int
      and ctid = any (array(select ctid from rollup_news where project_id = $1::int limit $2::bigint))
    returning started_at, family, kind, user_family, ${AMOUNTS.join(', ')}
  ), hours as materialized (
    select ${hourOf('started_at')} as hour, family, kind, count(*) as taken, ${SUMS} from gone group by 1, 2, 3
  ), users as materialized (
    select 'u' as level, ${dayOf('started_at')} as start, user_family as list, family, ${USER_SUMS}
    from gone where user_family is not null group by 2, 3, 4
  ), parts as (${LEVELS.map(
    ({ level, start, list }) => `
    select '${level}' as level, ${start} as start, ${list}::text as list, family::text as family, ${SUMS}
    from hours group by ${start}, ${list}, family`
  ).join(' union all ')})
  select *, (select sum(taken)::bigint from hours) as taken,
    case when row_number() over () = 1 then (select json_agg(users)::text from users) end as users
  from parts`

const TYPES: Readonly<Record<(typeof AMOUNTS)[number], string>> = {
  traces: 'bigint',
  priced: 'bigint',
  input_tokens: 'numeric',
  output_tokens: 'numeric',
  cost: 'numeric',
  latency: 'numeric'
}

/** Every fold adds in the same order, and none runs beside another of the project. */
const ADD = `
  insert into rollups as r (project_id, level, start, list, family, ${AMOUNTS.join(', ')})
  select $1::int, level, start, list, family, ${SUMS} from json_to_recordset($2::json) as part (
    level "char", start timestamptz, list bigint, family bigint, ${AMOUNTS.map(name => `${name} ${TYPES[name]}`).join(', ')}
  )
  group by level, start, list, family order by level, start, list
  on conflict (project_id, level, start, list) do update
    set ${AMOUNTS.map(name => `${name} = r.${name} + excluded.${name}`).join(', ')}`

/** Finds out where parts are counted: most hours and days have room. */
async function withRoom<T extends Part>(sql: Sql, projectId: number, parts: readonly T[]): Promise<T[]> {
  const starts = [...new Set(parts.map(({ start }) => start))]
  const rows = await sql<{ level: string; start: string; rows: number }[]>`
    select level, start, count(*) as rows from rollups
    where project_id = ${projectId} and level in ('i', 'n') and start = any (${starts}::timestamptz[])
    group by level, start`
  const full = []
  for (const { level, start } of findFull(parts, rows)) {
    const lists = await sql<{ list: string }[]>`
      select list::text from rollups
      where project_id = ${projectId} and level = ${level}::text::"char" and start = ${start}`
    full.push({ level, start, lists: lists.map(({ list }) => list) })
  }
  return findRoom(parts, full)
}
