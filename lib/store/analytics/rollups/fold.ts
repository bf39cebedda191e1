/**
 * Moves amounts from the table rollup_news to the table rollups. A fold is one transaction, so in every snapshot a
 * trace's amounts are in exactly one of the two tables. Readers add the amounts of both tables. Only one fold per
 * project runs at a time, across all processes.
 */
import type { Sql } from 'postgres'
import { AMOUNTS } from '../../../rollups/amounts.ts'
import { GROUPS, LEVELS, levelArray, type RollupGroup } from '../../../rollups/levels.ts'
import { findFull, findRoom, NAME_LEVELS, type RollupPart } from '../../../rollups/name-limits.ts'
import { hashInSql } from '../../../rows/list-numbers.ts'
import { inTransaction } from '../../transactions.ts'
import { forgetUsage } from '../usage/forgotten-sums.ts'
import { amountColumns, dayOf, environmentKeyInSql, held, hourOf, SUMS, tryLockRollups } from './deltas.ts'
import { forgetFortnights } from './fortnights.ts'
import { foldUsers } from './users.ts'

/** Counts each project's rows of rollup_news. */
export function readWaiting(sql: Sql): Promise<{ projectId: number; rows: number }[]> {
  return sql`
    select project_id as "projectId", count(*) as rows from rollup_news group by project_id order by project_id`
}

/** A row to add to rollups. Sums of type `numeric` are strings. */
interface Addition extends RollupPart {
  readonly traces: number
}

/**
 * Folds at most `most` of a project's rows of rollup_news. Returns the number of folded rows; 0 if another transaction
 * holds the lock.
 */
export async function foldDeltas(sql: Sql, projectId: number, most: number): Promise<number> {
  return inTransaction(sql, async () => {
    if (!(await tryLockRollups(sql, projectId))) return 0
    const [{ rowIds }] = await sql<[{ rowIds: string }]>`
      select array(select ctid from rollup_news where project_id = ${projectId} limit ${most})::text as "rowIds"`
    if (rowIds === NO_ROWS) return 0
    if (!(await hasProject(sql, projectId))) return dropRows(sql, projectId, rowIds)
    await foldUsers(sql, projectId, rowIds)
    const rows = await sql.unsafe<(Addition & { readonly taken: number })[]>(TAKE, [projectId, rowIds], {
      prepare: true
    })
    const { taken } = rows[0] as (typeof rows)[number]
    const starts = [...new Set(rows.map(({ start }) => start))]
    const parts = await withRoom(sql, projectId, rows, starts)
    await sql.unsafe(ADD, [projectId, JSON.stringify(parts)], { prepare: true })
    await forgetFortnights(sql, projectId, starts)
    const hours = rows.filter(({ level }) => level === LEVELS.hour.environment).map(({ start }) => start)
    await forgetUsage(sql, projectId, [...new Set(hours)])
    return taken
  })
}

async function hasProject(sql: Sql, projectId: number): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select exists (select from projects where id = ${projectId}) as has`
  return row.has
}

/**
 * Deletes rows of rollup_news that a late write added after its project was deleted. Folding them would leave rollups
 * that nothing deletes.
 */
async function dropRows(sql: Sql, projectId: number, rowIds: string): Promise<number> {
  const { count } = await sql`
    delete from rollup_news where project_id = ${projectId} and ctid = any (${rowIds}::text::tid[])`
  return count
}

/** An empty array in PostgreSQL's notation. */
const NO_ROWS = '{}'

/** SQL for the columns that distinguish a group's rollups. */
const COLUMNS: Readonly<
  Record<RollupGroup, { readonly list: string; readonly within: string; readonly name: string }>
> = {
  environment: { list: 'environment_key', within: 'environment_key', name: 'null::text' },
  family: { list: 'family', within: 'family', name: 'null::text' },
  nameInEnvironment: { list: hashInSql('name', 'environment_key'), within: 'environment_key', name: 'name' },
  nameInFamily: { list: hashInSql('name', 'family'), within: 'family', name: 'name' }
}
const FOLDED = GROUPS.flatMap(group => [
  { ...COLUMNS[group], level: LEVELS.hour[group], start: 'hour' },
  { ...COLUMNS[group], level: LEVELS.day[group], start: dayOf('hour') }
])

/**
 * Deletes rows of rollup_news and sums them by level. The rows are never updated, so a ctid identifies a row.
 * Histograms are returned in scientific notation, because thousands of zeros end them.
 */
const TAKE = `
  with gone as (
    delete from rollup_news where project_id = $1::int
      and ctid = any ($2::text::tid[])
    returning started_at, family, name, ${AMOUNTS.join(', ')}
  ), hours as materialized (
    select ${hourOf('started_at')} as hour, family, name, count(*) as taken, ${SUMS} from gone group by 1, 2, 3
  ), keyed as materialized (
    select hours.*, ${environmentKeyInSql('f.environment')} as environment_key
    from hours left join trace_families f on f.project_id = $1::int and f.family = hours.family
  ), parts as (
    ${FOLDED.map(
      ({ level, start, list, within, name }) => `
    select '${level}' as level, ${start} as start, (${list})::text as list, ${within}::text as within, ${name} as name,
      ${SUMS} from keyed group by 2, 3, 4, 5`
    ).join(' union all ')}
  )
  select level, start, list, within, name, (select sum(taken)::bigint from hours) as taken,
    ${AMOUNTS.filter(name => name !== 'latency').join(', ')}, case when latency = 0 then '0'
      else significant || 'e' || length(digits) - length(significant) end as latency
  from parts cross join lateral (select latency::text as digits offset 0) d
    cross join lateral (select rtrim(digits, '0') as significant offset 0) s`

/** Adds rows to rollups, in the same order in every fold. */
const ADD = `
  insert into rollups as r (project_id, level, start, list, within, name, ${AMOUNTS.join(', ')})
  select $1::int, level, start, list, within, min(name),
    ${AMOUNTS.map(name => held(name, `sum(${name})`)).join(', ')}
  from json_to_recordset($2::json) as part (
    level "char", start timestamptz, list bigint, within bigint, name text, ${amountColumns('bigint')}
  )
  group by level, start, list, within order by level, start, list
  on conflict (project_id, level, within, start, list) do update
    set ${AMOUNTS.map(name => `${name} = ${held(name, `r.${name}::numeric + excluded.${name}`)}`).join(', ')}`

/**
 * Assigns each part to the row that counts it. Reads existing rows only for the few hours and days that may lack
 * capacity for new names.
 */
async function withRoom<T extends RollupPart>(
  sql: Sql,
  projectId: number,
  parts: readonly T[],
  starts: readonly string[]
): Promise<T[]> {
  // The index on time is partial, so PostgreSQL uses the index only for statements with a condition on `level`.
  const isOfNames = sql.unsafe(`level = any (${levelArray(NAME_LEVELS)})`)
  const rows = await sql<{ level: string; start: string; rows: number }[]>`
    select level, start, count(*) as rows from rollups
    where project_id = ${projectId} and ${isOfNames} and start = any (${starts as string[]}::timestamptz[])
    group by level, start`
  const full = []
  for (const { level, start } of findFull(parts, rows)) {
    const lists = await sql<{ list: string }[]>`
      select list::text from rollups
      where project_id = ${projectId} and ${isOfNames} and level = ${level}::text::"char" and start = ${start}`
    full.push({ level, start, lists: lists.map(({ list }) => list) })
  }
  return findRoom(parts, full)
}
