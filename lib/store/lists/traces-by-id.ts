/** Reads trace summaries by id, for example of the running traces that a page shows. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { list } from '../answers/json-text.ts'
import { pageText, readSummaries } from './summary-page.ts'

/** Returns the summaries of the given traces that exist, newest first, as a JSON array string. */
export async function readTracesById(
  sql: Sql,
  projectId: number,
  ids: readonly string[],
  names: TableNames = SCHEMA_NAMES
): Promise<string> {
  const [{ page }] = await sql.unsafe<[{ readonly page: string | null }]>(
    `select ${pageText(names)} as page from (
      select * from ${names.traces} where project_id = $1 and id = any ($2::uuid[]) order by started_at desc, id desc
    ) t`,
    [projectId, ids as string[]],
    { prepare: true }
  )
  return list(readSummaries(page).map(trace => trace.render()))
}
