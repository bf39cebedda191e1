/**
 * Orders from `npm run torture` to the tests that it runs. They are apart from orders.ts, which imports tap: in a
 * process that only starts tests, tap would end it after 30 s.
 */

/** `npm run torture` puts the orders into this variable as JSON. */
export const ORDERS_VARIABLE = 'SPOOR_TORTURE'
export interface Orders {
  /** How long a part may go on. */
  readonly minutes: number
  readonly seed: number
  /** How many traces a rehearsal has. */
  readonly traces: number
  /** The file that figures are written to, a JSON line each. */
  readonly report: string
}
export interface Figure {
  readonly name: string
  readonly value: string
}
