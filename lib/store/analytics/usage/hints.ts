/** Finds what exists, for responses that would otherwise be empty. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../../database/tables.ts'

/** Returns the start of the newest trace; undefined if the project has none. */
export async function readNewestStart(
  sql: Sql,
  projectId: number,
  names: TableNames = SCHEMA_NAMES
): Promise<string | undefined> {
  const [row] = await sql.unsafe<{ at: string }[]>(
    `select started_at as at from ${names.traces} where project_id = $1 order by started_at desc, id desc limit 1`,
    [projectId],
    { prepare: true }
  )
  return row?.at
}

/** Number of the newest traces whose tags are examined. */
const LOOKED_AT = 5000

/** Returns the keys of the newest traces' tags, most frequent first. */
export async function readTagKeys(
  sql: Sql,
  projectId: number,
  names: TableNames = SCHEMA_NAMES,
  most = LOOKED_AT
): Promise<string[]> {
  const rows = await sql.unsafe<{ key: string }[]>(
    `with newest as materialized (
      select tags from ${names.traces} where project_id = $1 order by started_at desc, id desc limit $2::int
    )
    select split_part(tag, ':', 1) as key from newest, unnest(tags) as tag
    where strpos(tag, ':') > 1 group by 1 order by count(*) desc, 1 limit 100`,
    [projectId, most],
    { prepare: true }
  )
  return rows.map(({ key }) => key)
}
