/**
 * The states of running traces that this process recorded, so that their appends and ends need no look. What is remembered
 * may be old: others patch a trace, score it, delete it, or add to it through another process. So nothing is answered by it.
 * It decides what is written, and that takes only where the trace still has the remembered version.
 */
import type { PreparedTrace } from '../trace/prepared.ts'
import type { KeptState } from '../trace/state-after.ts'

/** Estimated bytes of memory in all, and of one trace, whose recording has at most a quarter of that. */
const MAX_BYTES = 32 * 1024 * 1024
const MAX_BYTES_OF_TRACE = 64 * 1024
/** Of a state without spans, and of each span's id and hash: the heap that 500 of them took in Node 20. */
const STATE_BYTES = 1024
const SPAN_BYTES = 128

interface Entry {
  readonly state: KeptState
  /** Of the body that recorded the trace: strings of the state are parts of its text, which they keep. */
  readonly bodyBytes: number
  /** In all. */
  readonly bytes: number
}

export class RunningTraces {
  /** By place, the longest unused first. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  get(place: string): KeptState | undefined {
    return this.#entries.get(place)?.state
  }

  /** A trace that was recorded with a body of so many bytes; `state` knows the hash of every span that it has. */
  start(place: string, state: KeptState, bodyBytes: number): void {
    this.#set(place, state, bodyBytes)
  }

  /** What became of a trace that is remembered. */
  change(place: string, state: KeptState): void {
    const entry = this.#entries.get(place)
    if (entry !== undefined) this.#set(place, state, entry.bodyBytes)
  }

  forget(place: string): void {
    const entry = this.#entries.get(place)
    if (entry === undefined) return
    this.#entries.delete(place)
    this.#bytes -= entry.bytes
  }

  #set(place: string, state: KeptState, bodyBytes: number): void {
    this.forget(place)
    const bytes = STATE_BYTES + bodyBytes + state.spanHashes.size * SPAN_BYTES
    if (bytes > MAX_BYTES_OF_TRACE) return
    this.#entries.set(place, { state, bodyBytes, bytes })
    this.#bytes += bytes
    if (this.#bytes > MAX_BYTES) this.#makeRoom()
  }

  #makeRoom(): void {
    for (const oldest of this.#entries.keys()) {
      this.forget(oldest)
      if (this.#bytes <= MAX_BYTES) return
    }
  }
}

/** Whether a trace that begins so is small enough to be remembered. */
export const isMemorable = ({ spans }: Pick<PreparedTrace, 'spans'>, bodyBytes: number): boolean =>
  bodyBytes + spans.length * SPAN_BYTES <= MAX_BYTES_OF_TRACE / 4
