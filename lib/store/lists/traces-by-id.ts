/** Reads summaries of traces by their ids, such as those of running traces that a page shows. */
import type { Sql } from 'postgres'
import { list } from '../answers/json-text.ts'
import { PAGE_TEXT, readSummaries } from './summary-page.ts'

/** The summaries of those that exist, newest first, as the text of a JSON array. */
export async function readTracesById(sql: Sql, projectId: number, ids: readonly string[]): Promise<string> {
  const [{ page }] = await sql.unsafe<[{ readonly page: string | null }]>(
    `select ${PAGE_TEXT} as page from (
      select * from traces where project_id = $1 and id = any ($2::uuid[]) order by started_at desc, id desc
    ) t`,
    [projectId, ids as string[]],
    { prepare: true }
  )
  return list(readSummaries(page).map(trace => trace.render()))
}
