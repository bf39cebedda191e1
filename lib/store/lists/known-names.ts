/** Reads names that occur in a project, for answers to queries that match nothing. */
import type { Sql } from 'postgres'

/** Number of newest traces that are searched for names. */
const LOOKED_AT = 1000
/** Maximum number of names. */
const MOST = 500

const COLUMNS = { session: 'session_id', user: 'user_id', environment: 'environment' } as const

/** Reads the sessions, users or environments of the project's newest traces, newest first. */
export async function readKnownNames(sql: Sql, projectId: number, of: keyof typeof COLUMNS): Promise<string[]> {
  const column = sql(COLUMNS[of])
  const rows = await sql<{ name: string }[]>`
    select name from (
      select ${column} as name, row_number() over (order by started_at desc, id desc) as place from (
        select ${column}, started_at, id from traces where project_id = ${projectId}
        order by started_at desc, id desc limit ${LOOKED_AT}
      ) newest
    ) named where name is not null group by name order by min(place) limit ${MOST}`
  return rows.map(({ name }) => name)
}
