/** Implements `spoor export`. */
import type { Sql } from 'postgres'
import { type ExportPage, type ExportWindow, fetchExportPage, renderExportPage } from '../store/answers/export-page.ts'

/**
 * Yields a project's traces as lines, one page at a time, ordered by startedAt, then id. Each page is read by its own
 * statement, so a long export does not hold back vacuum. Every trace is complete as of its page's read. A trace
 * recorded or deleted during the export may or may not be included. PostgreSQL reads the next page while the current
 * page is rendered and consumed.
 */
export async function* exportPages(
  sql: Sql,
  projectId: number,
  window: ExportWindow = {}
): AsyncGenerator<ExportPage, void, undefined> {
  let next = fetchExportPage(sql, projectId, window)
  for (let page = await next; page !== undefined; page = await next) {
    next = fetchExportPage(sql, projectId, window, page.last)
    // If the consumer stops early, nothing awaits this page.
    next.catch(() => {})
    yield await renderExportPage(sql, projectId, page)
  }
}
