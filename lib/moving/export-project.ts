/** The work of `spoor export`. */
import type { Sql } from 'postgres'
import { requireProject } from '../admin/projects.ts'
import { type ExportPage, type ExportPlace, type ExportWindow, readExportPage } from '../store/answers/traces.ts'

/**
 * The traces of a project as lines, a page at a time, in the order of startedAt, then id. Each page is read by a statement
 * of its own, which holds nothing back in the database however long the export takes: every trace is whole, as it stood
 * when its page was read, but what is recorded or deleted in the meantime may be in it or not.
 */
export async function* exportTraces(
  sql: Sql,
  project: string,
  window: ExportWindow = {}
): AsyncGenerator<ExportPage['lines'], void, undefined> {
  const projectId = await requireProject(sql, project)
  let last: ExportPlace | undefined
  for (;;) {
    const page = await readExportPage(sql, projectId, window, last)
    if (page === undefined) return
    yield page.lines
    last = page.last
  }
}
