/** Numbers for new rows and new versions, drawn from the database in blocks, so that a row's number is known before it. */
import type { Sql } from 'postgres'

/** The increment of the sequence trace_numbers. */
const BLOCK = 256
/** Blocks drawn at once: a round trip for every 4096 numbers. */
const BLOCKS = 16

export class TraceNumbers {
  /** Numbers left: [next, end) pairs, the current one last. */
  #ranges: { next: number; end: number }[] = []
  #left = 0

  has(count: number): boolean {
    return this.#left >= count
  }

  /** Makes sure that `count` numbers can be taken. */
  async refill(sql: Sql, count: number): Promise<void> {
    while (this.#left < count) {
      const rows = await sql<{ first: number }[]>`
        select nextval('trace_numbers') as first from generate_series(1, ${BLOCKS}::int)`
      for (const { first } of rows) this.#ranges.unshift({ next: first, end: first + BLOCK })
      this.#left += rows.length * BLOCK
    }
  }

  /** Takes one of the numbers that are there. */
  take(): number {
    const range = this.#ranges.at(-1)
    if (range === undefined) throw new Error('take() without refill()')
    const number = range.next++
    if (range.next === range.end) this.#ranges.pop()
    this.#left--
    return number
  }
}
