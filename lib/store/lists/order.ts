/**
 * Defines the orders of lists, and the edge at which a page begins. All orders are descending, including tie-breaking
 * ids.
 */

import { isBefore, parseTimestamp } from '../../trace/timestamp.ts'
import type { Edge, Order } from './cursor.ts'

/** An order with its bounds: no row lies above the highest key and tie, or below the lowest. */
export interface ListOrder extends Order {
  readonly highestKey: string
  readonly lowestKey: string
  readonly highestTie: string
  readonly lowestTie: string
}

const isTime = (text: string): boolean => parseTimestamp(text) === text
const isCount = (text: string): boolean => /^(0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text))
const isAmount = (text: string): boolean => {
  const amount = Number(text)
  return amount >= 0 && Number.isFinite(amount) && String(amount) === text
}

const TRACE_IDS = {
  isTie: (text: string): boolean => /^[0-9a-f]{32}$/.test(text),
  highestTie: 'f'.repeat(32),
  lowestTie: '0'.repeat(32)
}
const HIGHEST_COUNT = String(Number.MAX_SAFE_INTEGER)

/** Sorts of the trace list (specification 4.7). */
export const TRACE_ORDERS = {
  newest: { name: 'traces:newest', isKey: isTime, highestKey: 'infinity', lowestKey: '-infinity', ...TRACE_IDS },
  slowest: { name: 'traces:slowest', isKey: isCount, highestKey: HIGHEST_COUNT, lowestKey: '-1', ...TRACE_IDS },
  costliest: { name: 'traces:costliest', isKey: isAmount, highestKey: 'Infinity', lowestKey: '-1', ...TRACE_IDS }
} as const satisfies Record<string, ListOrder>
export type Sort = keyof typeof TRACE_ORDERS

/** Order of the score list: by createdAt, then by insertion number. */
export const SCORE_ORDER: ListOrder = {
  name: 'scores',
  isKey: isTime,
  isTie: isCount,
  highestKey: 'infinity',
  lowestKey: '-infinity',
  highestTie: HIGHEST_COUNT,
  lowestTie: '0'
}

/**
 * Returns the edge at which a walk down a list begins: the top of the list, the inclusive upper bound `to` (only in
 * orders by time) or the cursor, whichever is lowest. A single edge is used because, given two bounds, PostgreSQL might
 * start its index scan at the bound that is further away.
 */
export function edgeBelow(order: ListOrder, cursor: Edge | undefined, to: string | undefined): Edge {
  if (cursor !== undefined && (to === undefined || !isBefore(to, cursor.key))) return cursor
  return { key: to ?? order.highestKey, tie: order.highestTie, inclusive: true }
}

/** Returns the edge at which a walk up a list begins: the cursor or the lower bound `from`, whichever is higher. */
export function edgeAbove(order: ListOrder, cursor: Edge, from: string | undefined): Edge {
  if (from === undefined || !isBefore(cursor.key, from)) return cursor
  return { key: from, tie: order.lowestTie, inclusive: true }
}

/** Returns the edge for a walk in the opposite direction from the same position. */
export const behindEdge = (edge: Edge): Edge => ({ ...edge, inclusive: !edge.inclusive })
