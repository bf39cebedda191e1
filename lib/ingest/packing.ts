/**
 * Decides which requests have their span texts packed, that is, compressed together (lib/rows/packed-texts.ts). Packing
 * saves disk space, WAL and CPU time in PostgreSQL, but costs CPU time in Node. A calm server packs the texts of all
 * requests; a busy server packs only a fixed share of the requests (test/bench/RESULTS.md, "Packing by load").
 */
import type { Admission } from '../limits/admission.ts'

/** Maximum load of a calm server. At half its peak rate, a server has far fewer requests in flight. */
const CALM = { requests: 16, bytes: 2 * 1024 * 1024 }
/**
 * A busy server packs the texts of the first `packed` of every `requests` requests. Packed requests are consecutive
 * because alternating row lengths would fill PostgreSQL's pages less well. A body smaller than `bytes` is neither
 * packed nor counted, because short bodies save fewer bytes for the same CPU time.
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
   * Whether to prepare a body of `length` bytes with `hurries` set. If so, only texts that PostgreSQL would otherwise
   * compress are packed, because PostgreSQL's compression takes longer than packing.
   */
  hurries(length: number): boolean {
    if (this.isCalm) return false
    if (length < TURN.bytes) return true
    this.#turn = (this.#turn + 1) % TURN.requests
    return this.#turn >= TURN.packed
  }
}
