/**
 * Room for one body, from before it is read until its request is answered. What a body announces is kept free for it, so
 * that one which cannot be held is refused before it is read; but only as long as it comes. One that comes too slowly
 * keeps room for what there is of it: otherwise a hundred clients that announce much and send nothing would keep all
 * others out. One that comes, however long it takes, keeps its room: or else under a load that fills the network those
 * that are half read would have to make way for others that fare no better.
 */
import type { Admission } from '../limits/admission.ts'

/** Room kept for a body that comes in chunks, and by how much it grows. */
const STEP_BYTES = 131_072
/** In each such time so much must come of a body. */
const PACE = { ms: 5000, bytes: 512 * 1024 }

export class BodyReservation {
  readonly #admission: Pick<Admission, 'admit'>
  readonly #pace: typeof PACE
  readonly #clock: NodeJS.Timeout
  #parts: { release(): void }[]
  /** Bytes that there is room for, that have come, and that had come when it was last looked. */
  #bytes: number
  #received = 0
  #seen = 0
  /** It counts as a request, not with its bytes alone. */
  #isCounted = true

  /** `announced` is undefined for a body that comes in chunks. Throws `quota_exhausted` where there is no room. */
  constructor(admission: Pick<Admission, 'admit'>, announced: number | undefined, pace = PACE) {
    this.#admission = admission
    this.#pace = pace
    this.#bytes = announced ?? STEP_BYTES
    this.#parts = [admission.admit(this.#bytes)]
    this.#clock = setInterval(() => this.#look(), pace.ms).unref()
  }

  /** So many bytes have come. Throws `quota_exhausted` where there is no room for them. */
  grow(bytes: number): void {
    this.#received = bytes
    if (bytes <= this.#bytes) return
    const more = Math.max(bytes - this.#bytes, STEP_BYTES)
    this.#parts.push(this.#admission.admit(more, 0))
    this.#bytes += more
  }

  /** The body has come whole, and is a request like any other. Throws `quota_exhausted` where there are too many. */
  settle(): void {
    clearInterval(this.#clock)
    if (this.#isCounted) return
    this.#parts.push(this.#admission.admit(0))
    this.#isCounted = true
  }

  release(): void {
    clearInterval(this.#clock)
    for (const part of this.#parts) part.release()
  }

  #look(): void {
    if (this.#received - this.#seen < this.#pace.bytes) this.#shrink()
    this.#seen = this.#received
  }

  #shrink(): void {
    for (const part of this.#parts) part.release()
    this.#bytes = this.#received
    this.#parts = [this.#admission.admit(this.#bytes, 0)]
    this.#isCounted = false
  }
}
