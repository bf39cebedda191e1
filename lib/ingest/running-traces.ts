/**
 * The states of running traces that this process recorded, so that their appends and ends need no look at the database. What
 * is remembered may be old: others patch a trace, score it, delete it, or add to it through another process. So nothing is
 * answered by it. It decides what is written, and that takes only where the trace still has the remembered version.
 */
import type { KeptState } from '../trace/states/state-after.ts'

/** Estimated bytes of memory in all, and of one trace. */
const MAX_BYTES = 32 * 1024 * 1024
const MAX_BYTES_OF_TRACE = 64 * 1024
/**
 * Of a state without spans, where its texts are parts of the body that recorded it (up to 4 kB, lib/threads/body-threads.ts),
 * which they keep; and of each span's id and hash.
 */
const STATE_BYTES = 5 * 1024
const SPAN_BYTES = 128
/** Bytes of a UTF-16 code unit. */
const UNIT_BYTES = 2

interface Entry {
  readonly state: KeptState
  readonly bytes: number
}

export class RunningTraces {
  /** By what operations on a trace are queued under; the longest unused first. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  get(key: string): KeptState | undefined {
    return this.#entries.get(key)?.state
  }

  /** `state` knows the hash of every span that the trace has. */
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
