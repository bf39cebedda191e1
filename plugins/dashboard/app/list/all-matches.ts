/** Works through all traces that match a list's filters, in bounded requests. */
import { at, fetchText, read, write } from '../state/api.ts'
import { firstPage, type ListQuery, listedTime, toServer } from '../state/list-query.ts'
import { presentTime } from '../state/preferences.ts'
import { linesOf, type TableRow } from './score-columns.ts'

/** Number of traces per request, and number of concurrent requests for single traces. */
const PAGE = { ids: 200, table: 200, deleted: 200 }
const AT_ONCE = 4

/** Called with the number of traces done so far. */
type Progress = (done: number) => void

/** Returns the query with its time fixed, so that traces that arrive meanwhile are not included. */
export function fixed(query: ListQuery, at = presentTime()): ListQuery {
  const { range: _, ...rest } = firstPage(query)
  return { ...rest, to: new Date(at.now).toISOString(), ...listedTime(query, at) }
}

const pageOf = (query: ListQuery, limit: number, after: string | null) => {
  const parameters = new URLSearchParams(toServer(query, presentTime()))
  parameters.set('limit', String(limit))
  if (after !== null) parameters.set('after', after)
  return parameters
}

/** Returns the ids of all matches. */
export async function findAllIds(slug: string, query: ListQuery, progress: Progress, signal: AbortSignal) {
  const ids: string[] = []
  let after: string | null = null
  do {
    const page: { traces: readonly { id: string }[]; nextCursor: string | null } = await read(
      at('p/:slug/traces', { slug }, pageOf(query, PAGE.ids, after)),
      { signal }
    )
    ids.push(...page.traces.map(({ id }) => id))
    progress(ids.length)
    after = page.nextCursor
  } while (after !== null)
  return ids
}

/** Returns all matches as the lines of a CSV file. */
export async function readTable(slug: string, query: ListQuery, progress: Progress, signal: AbortSignal) {
  const rows: TableRow[] = []
  let head = ''
  let after: string | null = null
  do {
    const page: { head: string; rows: readonly TableRow[]; nextCursor: string | null } = await read(
      at('p/:slug/trace-table', { slug }, pageOf(query, PAGE.table, after)),
      { signal }
    )
    head = page.head
    rows.push(...page.rows)
    progress(rows.length)
    after = page.nextCursor
  } while (after !== null)
  return { lines: linesOf(head, rows), traces: rows.length }
}

/** Returns whole traces, one per line, in the order of the ids. */
export async function readWholeTraces(slug: string, ids: readonly string[], progress: Progress, signal: AbortSignal) {
  const lines: string[] = []
  for (let i = 0; i < ids.length; i += AT_ONCE) {
    const some = ids.slice(i, i + AT_ONCE)
    const texts = await Promise.all(
      some.map(traceId => fetchText(at('p/:slug/traces/:traceId', { slug, traceId }), { signal }))
    )
    for (const text of texts) lines.push(`${text}\n`)
    progress(Math.min(i + AT_ONCE, ids.length))
  }
  return lines
}

/** Deletes traces. Returns the number of traces deleted, even if it was stopped. */
export async function deleteAll(slug: string, ids: readonly string[], progress: Progress, signal: AbortSignal) {
  let deleted = 0
  for (let i = 0; i < ids.length && !signal.aborted; ) {
    const body = { traceIds: ids.slice(i, i + PAGE.deleted) }
    const { deleted: some, remaining } = await write('POST', at('p/:slug/deletions', { slug }), { body })
    deleted += some
    progress(deleted)
    // A request deletes a bounded number of spans, so the same traces may need several.
    if (remaining === 0 || some === 0) i += PAGE.deleted
  }
  return deleted
}
