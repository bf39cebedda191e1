/** Reads times and cursors from list parameters, and writes cursors for responses. */

import { refuseField } from '../lib/http/refuse.ts'
import { decodeCursor, type Edge, encodeCursor, type Order } from '../lib/store/lists/cursor.ts'
import { parseTimestamp } from '../lib/trace/timestamp.ts'

/** Converts a parameter's time to its canonical form. Throws an `invalid_request` that names the parameter. */
export function readTime(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const time = parseTimestamp(text)
  if (time !== undefined) return time
  const lostPlus = parseTimestamp(text.replace(/ (?=[\d:]+$)/, '+')) !== undefined
  const hint = lostPlus ? '; a + in a query is a space: write it as %2B' : ''
  return refuseField(name, `must be an ISO 8601 date and time, such as 2026-11-21T12:00:00Z${hint}`)
}

/** Decodes a parameter's cursor. Throws an `invalid_request` that names the parameter. */
export function readCursor(name: string, order: Order, text: string | undefined): Edge | undefined {
  if (text === undefined) return undefined
  return decodeCursor(order, text) ?? refuseField(name, 'must be a cursor from a page of this list with the same sort')
}

/** Returns a cursor as JSON; `null` if there is no further page. */
export const renderCursor = (order: Order, edge: Edge | undefined): string =>
  edge === undefined ? 'null' : `"${encodeCursor(order, edge)}"`
