/**
 * Cursors say, as opaque text, where a page of a list ended. A cursor is a position in the order of one list under one
 * sort, not a page. So a cursor can be used with other filters and another limit, and stays valid when rows are added
 * or deleted.
 */

/** A position in a list: the sort key of a row, and its id or number, which breaks ties. The row itself may be gone. */
export interface Edge {
  /** The sort key as exact text: a canonical timestamp, an integer, or the shortest text of a double. */
  readonly key: string
  readonly tie: string
  /** Whether the row at the edge belongs to the page that begins there. */
  readonly inclusive: boolean
}

/** An order that cursors can point into. */
export interface Order {
  /** The list and the sort, such as `traces:newest`. A cursor of another order is refused. */
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
 * The edge that a cursor of this order encodes. Undefined for any text that `encodeCursor` did not make for this order.
 */
export function decodeCursor(order: Order, cursor: string): Edge | undefined {
  const [, , side, key = '', tie = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ')
  if (!order.isKey(key) || !order.isTie(tie)) return undefined
  const edge = { key, tie, inclusive: side === AT }
  // The decoder overlooks characters that are not base64url, so only the one spelling that encodeCursor makes is
  // accepted.
  return encodeCursor(order, edge) === cursor ? edge : undefined
}
