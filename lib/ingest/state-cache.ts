/**
 * Remembers the states of running traces that this process recorded, so that their appends and ends need no look at
 * the database. A remembered state may be old: somebody may have patched, scored or deleted the trace, or added to it
 * through another process. So no refusal and no duplicate is answered from it. It only decides what to write, and
 * PostgreSQL undoes that write unless the trace still has the remembered version.
 */
import type { KeptState } from '../trace/states/state-after.ts'

/** Bounds of the memory that all states, and one state, may take by estimate. */
const MAX_BYTES = 32 * 1024 * 1024
const MAX_BYTES_OF_TRACE = 64 * 1024
/**
 * Estimate for a state without its spans. The texts of a state can be parts of the body that recorded the trace, and
 * then they keep that whole body in memory (up to INLINE_BYTES, lib/threads/body-threads.ts).
 */
const STATE_BYTES = 5 * 1024
/** Estimate for the id and the hash of one span. */
const SPAN_BYTES = 128
/** Bytes of a UTF-16 code unit. */
const UNIT_BYTES = 2

interface Entry {
  readonly state: KeptState
  readonly bytes: number
}

export class StateCache {
  /** The states by the keys of the queue, in the order in which they were last set: the oldest is forgotten first. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  get(key: string): KeptState | undefined {
    return this.#entries.get(key)?.state
  }

  /** `state` must hold the hash of every span of the trace. A state that is too large is forgotten. */
  set(key: string, state: KeptState): void {
    this.forget(key)
    const bytes = STATE_BYTES + (state.metadata?.length ?? 0) * UNIT_BYTES + state.spanHashes.size * SPAN_BYTES
    if (bytes > MAX_BYTES_OF_TRACE) return
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
