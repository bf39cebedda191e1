/**
 * Reserves room for one body, from before the body is read until its request is answered.
 *
 * The announced length is reserved first, so that a body for which there is no room is refused before it is read. If a
 * body arrives too slowly, only the bytes that have arrived stay reserved: otherwise a hundred clients that announce
 * much and send nothing would keep everybody else out. A body that arrives at a fair pace keeps its whole room,
 * however long it takes: otherwise half-read bodies would be refused while the network is full, and their resends
 * would fare no better.
 */
import type { Admission } from '../../limits/admission.ts'

/** The room that is first reserved for a body that comes in chunks, and by which it grows. */
const STEP_BYTES = 131_072
/** The fair pace: so many bytes must arrive in each period of so many milliseconds. */
const PACE = { ms: 5000, bytes: 512 * 1024 }

export class BodyReservation {
  readonly #admission: Pick<Admission, 'admit'>
  readonly #pace: typeof PACE
  readonly #clock: NodeJS.Timeout
  #parts: { release(): void }[]
  /** The bytes that are reserved; that have arrived; and that had arrived at the last look. */
  #bytes: number
  #received = 0
  #seen = 0
  /** Whether the body counts as a request as well, and not only by its bytes. */
  #isCounted = true

  /** `announced` is undefined for a body that comes in chunks. Throws `quota_exhausted` if there is no room. */
  constructor(admission: Pick<Admission, 'admit'>, announced: number | undefined, pace = PACE) {
    this.#admission = admission
    this.#pace = pace
    this.#bytes = announced ?? STEP_BYTES
    this.#parts = [admission.admit(this.#bytes)]
    this.#clock = setInterval(() => this.#look(), pace.ms).unref()
  }

  /** Notes how many bytes have arrived in all. Throws `quota_exhausted` if there is no room for them. */
  grow(bytes: number): void {
    this.#received = bytes
    if (bytes <= this.#bytes) return
    const more = Math.max(bytes - this.#bytes, STEP_BYTES)
    this.#parts.push(this.#admission.admit(more, 0))
    this.#bytes += more
  }

  /**
   * The whole body has arrived, and counts as a request from now on. Throws `quota_exhausted` if there are too many.
   */
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
