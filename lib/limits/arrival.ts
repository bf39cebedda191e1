/** Minimum pace of an arriving body, and maximum wait before a body is read. */
export interface ArrivalBounds {
  /** A body is on pace if at least `periodBytes` arrive in each period. */
  readonly periodMs: number
  readonly periodBytes: number
  /** Maximum total time that a body may spend below the pace. */
  readonly slowMs: number
  /** Maximum time that a body may wait for a slot. */
  readonly waitMs: number
}

/**
 * The pace is 100 kB/s. A phone with a weak signal is slower, but is allowed to continue while no other client waits.
 */
export const ARRIVAL: ArrivalBounds = { periodMs: 5000, periodBytes: 512 * 1024, slowMs: 120_000, waitMs: 30_000 }
