/**
 * Caches the states of running traces that this process recorded, so that appends, ends and further exports need not
 * read the database.
 *
 * A cached state may be stale, because another request may have patched, scored or deleted the trace, or another
 * process may have added spans to the trace. The cache therefore decides only writes, never refusals or duplicates, and
 * PostgreSQL rolls back a write unless the trace still has the cached version.
 */
import type { KeptState } from '../trace/states/state-after.ts'

/** Bounds on estimated memory: for all states, for one native state and for one gathered state. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_BYTES_OF_TRACE = 64 * 1024
const MAX_BYTES_OF_GATHERED = 16 * 1024 * 1024
/**
 * Estimated size, in bytes, of a state without its spans. A state's strings can be slices of the body that recorded the
 * trace. Such slices keep the whole body in memory (up to INLINE_BYTES, lib/threads/body-threads.ts).
 */
const STATE_BYTES = 5 * 1024
/** Estimated size, in bytes, of one span's id and hash. */
const SPAN_BYTES = 128
/** Estimated size, in bytes, of one span of a gathered trace: its id, hash and usage, and its entries in the tree. */
const GATHERED_SPAN_BYTES = 640
/** Bytes in a UTF-16 code unit. */
const UNIT_BYTES = 2

interface Entry {
  readonly state: KeptState
  readonly bytes: number
}

export class StateCache {
  /** States by queue key, least recently set first. The oldest state is evicted first. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  get(key: string): KeptState | undefined {
    return this.#entries.get(key)?.state
  }

  /**
   * Caches a state, which must hold every span's hash. If the state is too large, its trace is removed from the cache
   * instead.
   */
  set(key: string, state: KeptState): void {
    this.forget(key)
    const { metadata, spanHashes, gathered } = state
    const spans = spanHashes.size * (gathered === undefined ? SPAN_BYTES : GATHERED_SPAN_BYTES)
    const bytes = STATE_BYTES + (metadata?.length ?? 0) * UNIT_BYTES + spans
    if (bytes > (gathered === undefined ? MAX_BYTES_OF_TRACE : MAX_BYTES_OF_GATHERED)) return
    this.#entries.set(key, { state, bytes })
    this.#bytes += bytes
    if (this.#bytes > MAX_BYTES) this.#forgetOldest()
  }

  forget(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
  }

  #forgetOldest(): void {
    for (const oldest of this.#entries.keys()) {
      this.forget(oldest)
      if (this.#bytes <= MAX_BYTES) return
    }
  }
}
