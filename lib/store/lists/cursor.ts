/**
 * Encodes the position at which a page of a list ended, as an opaque string. A cursor is a position in one list under
 * one sort order, not a page. A cursor therefore works with other filters and limits, and stays valid when rows are
 * added or deleted.
 */

/** A position in a list: a row's sort key, and its id or number to break ties. The row may have been deleted. */
export interface Edge {
  /** Exact sort key: a canonical timestamp, an integer, or a double in its shortest decimal notation. */
  readonly key: string
  readonly tie: string
  /** Whether the page that begins at the edge includes the row at the edge. */
  readonly inclusive: boolean
}

/** An order in which a cursor marks a position. */
export interface Order {
  /** List and sort, such as `traces:newest`. A cursor for another order is rejected. */
  readonly name: string
  isKey(text: string): boolean
  isTie(text: string): boolean
}

const VERSION = '1'
const AT = 'at'
const PAST = 'past'

export function encodeCursor(order: Order, { key, tie, inclusive }: Edge): string {
  const text = [VERSION, order.name, inclusive ? AT : PAST, key, tie].join(' ')
  return Buffer.from(text, 'latin1').toString('base64url')
}

/**
 * Returns the edge that a cursor encodes. Returns undefined unless the cursor was created by `encodeCursor` for this
 * order.
 */
export function decodeCursor(order: Order, cursor: string): Edge | undefined {
  const [, , side, key = '', tie = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ')
  if (!order.isKey(key) || !order.isTie(tie)) return undefined
  const edge = { key, tie, inclusive: side === AT }
  // The decoder ignores characters outside base64url, so only the spelling that encodeCursor produces is accepted.
  return encodeCursor(order, edge) === cursor ? edge : undefined
}
