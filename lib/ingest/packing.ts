/**
 * Which requests have the texts of their spans compressed (lib/rows/packed-texts.ts), by how much there is to do: it takes
 * disk, log and PostgreSQL's CPU off, and node's CPU to do so.
 */
import type { Admission } from '../limits/admission.ts'

/**
 * With no more than this under way there is time for it. At half of its top rate a server has 4 requests under way at the
 * median: there a typical trace takes 0.78 of its body on disk in place of 1.16, 15 kB of log in place of 22, and 90 us more
 * of node's CPU, 30 less of PostgreSQL's.
 */
const CALM = { requests: 16, bytes: 2 * 1024 * 1024 }
/**
 * With more to do, it is done for so many of each `requests`, in a row: a typical trace then takes 0.99 of its body on disk and
 * 19 kB of log. In turns with none (48 of 112, medians of 6): 3,443 traces/s and 3,378, 286 us of node's CPU and 250, 213 of
 * PostgreSQL's and 242. With 3 of 7 in place of that, rows of two lengths fill pages less well: 0.6 % more disk, 9 % more of
 * PostgreSQL's CPU. Bodies of fewer than `bytes` are not worth it: of 4 kB compressing takes off 85 bytes a microsecond, of
 * 8 kB 107, of 16 kB 133.
 */
export const TURN = { requests: 128, packed: 56, bytes: 8192 }

export class Packing {
  readonly #admission: Admission
  #turn = 0

  constructor(admission: Admission) {
    this.#admission = admission
  }

  /** Whether the texts of this body, of so many bytes, are packed only if that takes no time. */
  hurries(length: number): boolean {
    const { requests, bytes } = this.#admission
    if (requests <= CALM.requests && bytes <= CALM.bytes) return false
    if (length < TURN.bytes) return true
    this.#turn = (this.#turn + 1) % TURN.requests
    return this.#turn >= TURN.packed
  }
}
