/** The work of `spoor export`. */
import type { Sql } from 'postgres'
import { requireProject } from '../admin/projects.ts'
import { type ExportPage, type ExportPlace, type ExportWindow, readExportPage } from '../store/answers/traces.ts'

/**
 * Yields the traces of a project as lines, a page at a time, in the order of startedAt, then id. Each page is read by
 * a statement of its own, so a long export does not keep PostgreSQL from cleaning up. Every trace is whole, as it was
 * when its page was read. A trace that is recorded or deleted during the export may be in it or not.
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
