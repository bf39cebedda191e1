/**
 * Decides which requests have the texts of their spans packed, that is, compressed together
 * (lib/rows/packed-texts.ts). Packing saves disk, log and PostgreSQL's CPU, but costs node's CPU. So a calm server
 * packs all texts, and a busy one packs those of a fixed share of its requests (test/bench/RESULTS.md, "Packing by
 * load").
 */
import type { Admission } from '../limits/admission.ts'

/** A server with no more than this under way is calm. At half of its top rate it has far fewer requests under way. */
const CALM = { requests: 16, bytes: 2 * 1024 * 1024 }
/**
 * A busy server packs the texts of the first `packed` of each `requests` requests, one after the other: rows of two
 * lengths in turns would fill PostgreSQL's pages less well. A body of fewer than `bytes` is not packed and not
 * counted, since compressing short bodies saves fewer bytes for the same CPU.
 */
export const TURN = { requests: 128, packed: 56, bytes: 8192 }

export class Packing {
  readonly #admission: Admission
  #turn = 0

  constructor(admission: Admission) {
    this.#admission = admission
  }

  get isCalm(): boolean {
    const { requests, bytes } = this.#admission
    return requests <= CALM.requests && bytes <= CALM.bytes
  }

  /**
   * Whether to hurry with a body of `length` bytes. In a hurry only those texts are packed that PostgreSQL would
   * otherwise compress, which costs more time than packing.
   */
  hurries(length: number): boolean {
    if (this.isCalm) return false
    if (length < TURN.bytes) return true
    this.#turn = (this.#turn + 1) % TURN.requests
    return this.#turn >= TURN.packed
  }
}
