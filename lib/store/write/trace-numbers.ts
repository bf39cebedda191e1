/**
 * Draws numbers for new rows and versions from the database in blocks, so that a lane knows a row's number before
 * writing the row.
 */
import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'

/** Increment of the sequence trace_numbers. */
const BLOCK = 256
/** Number of blocks per round trip, for a total of 4096 numbers. */
const BLOCKS = 16
/**
 * Time after which drawn numbers are no longer used, so that a number tells roughly when it was written
 * (lib/store/repacking/progress.ts).
 */
export const KEPT_MS = 60_000

export class TraceNumbers {
  /** Remaining numbers, as ranges of [next, end). The last range is in use. */
  #ranges: { next: number; end: number }[] = []
  #left = 0
  /** When the oldest of these numbers were drawn, in ms of performance.now(). */
  #drawnAt = 0

  /** Whether `count` numbers can be taken without a refill. */
  has(count: number, now = performance.now()): boolean {
    return this.#left >= count && now - this.#drawnAt < KEPT_MS
  }

  /** Ensures that `count` numbers can be taken. */
  async refill(sql: Sql, count: number): Promise<void> {
    // Remaining numbers are discarded, because they would be used later than numbers that others draw now.
    this.#ranges = []
    this.#left = 0
    this.#drawnAt = performance.now()
    while (this.#left < count) {
      const rows = await sql<{ first: number }[]>`
        select nextval('trace_numbers') as first from generate_series(1, ${BLOCKS}::int)`
      for (const { first } of rows) this.#ranges.unshift({ next: first, end: first + BLOCK })
      this.#left += rows.length * BLOCK
    }
  }

  /** Takes one number. Throws if no number is left. */
  take(): number {
    const range = this.#ranges.at(-1)
    if (range === undefined) throw new Error('take() without refill()')
    const number = range.next++
    if (range.next === range.end) this.#ranges.pop()
    this.#left--
    return number
  }
}

/**
 * Returns a number for traces.version that differs from all earlier versions of the trace. Sequence numbers are
 * positive; this number is negative and random, because a statement on a project's tables must not draw from a sequence
 * (test/fixtures/statements/lint.ts).
 */
export const freshVersion = (): number => -1 - randomBytes(6).readUIntBE(0, 6)
