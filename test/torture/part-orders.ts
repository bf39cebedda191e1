/**
 * Orders from `npm run torture` to the tests that it runs. They are separate from orders.ts, which imports tap, because
 * tap would end a process that only starts tests after 30 s.
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
