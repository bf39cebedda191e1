/** How a request must arrive, and how long it waits before it is read. */
export interface ArrivalBounds {
  /** A body keeps the pace while at least this many bytes of it come in each period. */
  readonly periodMs: number
  readonly periodBytes: number
  /** The time, in all, that a body may spend below the pace. */
  readonly slowMs: number
  /** The longest wait for a place. */
  readonly waitMs: number
}

/** The pace is 100 kB/s. A phone with a weak signal falls below it, and may still send while no other client waits. */
export const ARRIVAL: ArrivalBounds = {
  periodMs: 5000,
  periodBytes: 512 * 1024,
  slowMs: 120_000,
  waitMs: 30_000
}
