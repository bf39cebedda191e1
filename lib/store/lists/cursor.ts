/**
 * Cursors: where a page of a list ended, as opaque text. A cursor is a place in the order of one list under one sort, not
 * a page: it holds with whatever filters and limit come with it, and stays right when rows come or go.
 */

/** Where to go on in a list: from a row, by its sort key and what breaks ties. The row itself need not exist any more. */
export interface Edge {
  /** As exact text: a canonical timestamp, an integer, or the shortest text of a double. */
  readonly key: string
  readonly tie: string
  /** Whether that row itself belongs to what follows. */
  readonly inclusive: boolean
}

/** An order that cursors can point into. */
export interface Order {
  /** List and sort, such as `traces:newest`: a cursor of another order is refused. */
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

/** The edge that a cursor of this order stands for; undefined for anything that `encodeCursor` did not make. */
export function decodeCursor(order: Order, cursor: string): Edge | undefined {
  const [, , side, key = '', tie = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ')
  if (!order.isKey(key) || !order.isTie(tie)) return undefined
  const edge = { key, tie, inclusive: side === AT }
  // Whatever else is in the text, and whatever base64url decoding overlooked, there is one right spelling of an edge.
  return encodeCursor(order, edge) === cursor ? edge : undefined
}
