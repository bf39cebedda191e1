/**
 * Room in the write queue for one body, from before it is read until it is answered. What a body announces is kept free
 * for it, so that one which cannot be held is refused before it is read; but only for a while. A body that has not come
 * whole by then keeps room for what there is of it: otherwise a hundred clients that announce much and send nothing would
 * keep all others out.
 */
import type { Ingest } from './app.ts'

/** Room kept for a body that comes in chunks, and by how much it grows. */
const STEP_BYTES = 131_072
const PATIENCE_MS = 5000

export class Room {
  readonly #ingest: Pick<Ingest, 'admit'>
  readonly #patience: NodeJS.Timeout
  #parts: { release(): void }[]
  /** Bytes that there is room for, and that have come. */
  #bytes: number
  #received = 0
  /** It counts as a request, not with its bytes alone. */
  #isCounted = true

  /** `announced` is undefined for a body that comes in chunks. Throws `quota_exhausted` where the queue is full. */
  constructor(ingest: Pick<Ingest, 'admit'>, announced: number | undefined, patienceMs = PATIENCE_MS) {
    this.#ingest = ingest
    this.#bytes = announced ?? STEP_BYTES
    this.#parts = [ingest.admit(this.#bytes)]
    this.#patience = setTimeout(() => this.#shrink(), patienceMs)
  }

  /** So many bytes have come. Throws `quota_exhausted` where there is no room for them. */
  grow(bytes: number): void {
    this.#received = bytes
    if (bytes <= this.#bytes) return
    const more = Math.max(bytes - this.#bytes, STEP_BYTES)
    this.#parts.push(this.#ingest.admit(more, 0))
    this.#bytes += more
  }

  /** The body has come whole, and is a request like any other. Throws `quota_exhausted` where there are too many. */
  settle(): void {
    clearTimeout(this.#patience)
    if (this.#isCounted) return
    this.#parts.push(this.#ingest.admit(0))
    this.#isCounted = true
  }

  release(): void {
    clearTimeout(this.#patience)
    for (const part of this.#parts) part.release()
  }

  #shrink(): void {
    for (const part of this.#parts) part.release()
    this.#bytes = this.#received
    this.#parts = [this.#ingest.admit(this.#bytes, 0)]
    this.#isCounted = false
  }
}
