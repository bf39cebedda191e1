/**
 * Orders from `npm run torture` to the tests that it runs. They are not in orders.ts, because orders.ts imports tap,
 * and after 30 s tap would end a process that only starts tests.
 */

/** `npm run torture` writes the orders to this variable as JSON. */
export const ORDERS_VARIABLE = 'SPOOR_TORTURE'
export interface Orders {
  /** Maximum duration of a part. */
  readonly minutes: number
  readonly seed: number
  /** Number of traces in a rehearsal. */
  readonly traces: number
  /** The file for figures, one JSON line each. */
  readonly report: string
}
export interface Figure {
  readonly name: string
  readonly value: string
}
