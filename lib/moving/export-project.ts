/** Implements `spoor export`. */
import type { Sql } from 'postgres'
import {
  type ExportChoice,
  type ExportPage,
  fetchExportPage,
  renderExportPage,
  renderLongTrace,
  showExportPage
} from '../store/answers/export-page.ts'
import { fetchTrace, type ShownTrace, showFetched } from '../store/answers/traces.ts'
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
  conditions: ExportChoice = {},
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

/**
 * Yields a project's traces as responses show them, in the order of `exportPages`. Each character of a string is one
 * byte. A long trace is in memory as a whole.
 */
export async function* shownTraces(
  sql: Sql,
  projectId: number,
  choice: ExportChoice = {}
): AsyncGenerator<ShownTrace, void> {
  for (let page = await fetchExportPage(sql, projectId, choice); page !== undefined; ) {
    const { last, isLong } = page
    if (!isLong) yield* showExportPage(sql, projectId, page)
    else {
      const fetched = await fetchTrace(sql, projectId, last.id)
      // The trace may have been deleted since its page was read.
      if (fetched !== undefined) yield await showFetched(fetched, async () => {})
    }
    page = await fetchExportPage(sql, projectId, choice, last)
  }
}
