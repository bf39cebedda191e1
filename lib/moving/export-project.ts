/** The work of `spoor export`. */
import type { Sql } from 'postgres'
import { type ExportPage, type ExportWindow, fetchExportPage, renderExportPage } from '../store/answers/export-page.ts'

/**
 * Yields the traces of a project as lines, a page at a time, in the order of startedAt, then id. Each page is read by
 * a statement of its own, so a long export does not keep PostgreSQL from cleaning up. Every trace is whole, as it was
 * when its page was read. A trace that is recorded or deleted during the export may be in it or not.
 * PostgreSQL reads a page while the lines of the one before are made and used.
 */
export async function* exportPages(
  sql: Sql,
  projectId: number,
  window: ExportWindow = {}
): AsyncGenerator<ExportPage, void, undefined> {
  let next = fetchExportPage(sql, projectId, window)
  for (let page = await next; page !== undefined; page = await next) {
    next = fetchExportPage(sql, projectId, window, page.last)
    // If the reader stops early, nothing waits for this page.
    next.catch(() => {})
    yield await renderExportPage(sql, projectId, page)
  }
}
