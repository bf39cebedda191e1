/** Summaries of traces that are asked for by their ids, such as those that somebody looks at while they run. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { list } from '../answers/json-text.ts'
import { pageText, readSummaries } from './summary-page.ts'

/** The summaries of those that there are, newest first, as the text of a JSON array. */
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
