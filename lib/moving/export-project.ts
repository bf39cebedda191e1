/** Implements `spoor export`. */
import type { Sql } from 'postgres'
import { type ExportPage, fetchExportPage, renderExportPage, renderLongTrace } from '../store/answers/export-page.ts'
import type { TraceConditions } from '../store/trace/trace-conditions.ts'
import { snapshotOf } from '../store/transactions.ts'

/**
 * Yields the traces of a project that meet the conditions as lines, one page at a time, ordered by startedAt, then id.
 * Each page is read by its own statement, so a long export does not hold back vacuum. Every trace is complete as of the
 * moment at which its page is read. A trace recorded or deleted during the export may or may not be included.
 * PostgreSQL reads the next page while the current page is rendered and consumed.
 *
 * A long trace is a page by itself, yielded in pieces. The page is read in its own transaction, unless the caller is
 * already in a transaction (`isInTransaction`).
 */
export async function* exportPages(
  sql: Sql,
  projectId: number,
  conditions: TraceConditions = {},
  isInTransaction = false
): AsyncGenerator<ExportPage, void, undefined> {
  let next = fetchExportPage(sql, projectId, conditions)
  for (let page = await next; page !== undefined; page = await next) {
    const { last, isLong } = page
    const readNext = () => {
      next = fetchExportPage(sql, projectId, conditions, last)
      // If the consumer stops early, nothing awaits this promise, so its rejection is handled here.
      next.catch(() => {})
    }
    if (isLong) {
      const pieces = renderLongTrace(sql, projectId, last.id)
      yield* isInTransaction ? pieces : snapshotOf(sql, pieces)
      readNext()
    } else {
      readNext()
      yield await renderExportPage(sql, projectId, page)
    }
  }
}
