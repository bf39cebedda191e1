/**
 * Reserves memory for a body before the body is read, keeps the memory reserved until the request is answered, and
 * monitors the body's arrival.
 *
 * The announced length is reserved first, so that a body for which no memory is available is rejected before it is
 * read. If a body arrives too slowly, only its received bytes stay reserved; otherwise a hundred clients that announce
 * long bodies and send nothing would shut out all other clients. A body that arrives fast enough keeps its full
 * reservation; otherwise half-read bodies would be rejected while the network is congested, and retries would be
 * rejected too.
 *
 * A slow body may continue while it delays no other request. A slow body is rejected if another body waits for its
 * large-body slot, or if its total slow time exceeds a limit. Pauses in which the server does not read the body do not
 * count as slow.
 */
import { Refusal } from '../../errors.ts'
import type { Admission, Room } from '../../limits/admission.ts'
import type { ArrivalBounds } from '../../limits/arrival.ts'
import type { Slot } from '../../limits/slots.ts'
import { LARGE_BODY_BYTES } from '../../schema/input.ts'

/** Initial reservation for a chunked body, and the minimum increment by which any reservation grows. */
const STEP_BYTES = 131_072

export interface Expected {
  /** Announced length; undefined for a chunked body. */
  readonly length: number | undefined
  /** The body's project. */
  readonly party: number | undefined
  /** The slot that a large body takes. */
  readonly slot: Slot
}

/**
 * Thrown if a body takes too long to arrive. The response matches the response that Node's parser sends for a late
 * request head.
 */
export class LateBody extends Refusal {
  constructor() {
    super('invalid_request', 'The request took too long to arrive.')
  }

  override get status(): number {
    return 408
  }
}

export class BodyReservation {
  readonly #bounds: ArrivalBounds
  readonly #slot: Slot
  readonly #clock: NodeJS.Timeout
  readonly #room: Room
  /** Bytes reserved, bytes received, and bytes received by the time of the last check. */
  #bytes: number
  #received = 0
  #seen = 0
  /** Total time spent below the minimum pace. */
  #slowMs = 0
  /** Whether the body is counted as a request, in addition to its bytes. */
  #isCounted = true
  #isPaused = false
  #giveUp: ((refusal: Refusal) => void) | undefined

  /** Reserves the first bytes. Throws `quota_exhausted` if no capacity is left. */
  constructor(admission: Pick<Admission, 'admit'>, { length, party, slot }: Expected, bounds: ArrivalBounds) {
    this.#bounds = bounds
    this.#slot = slot
    this.#bytes = reserved(length ?? STEP_BYTES)
    this.#room = admission.admit(this.#bytes, 1, party)
    this.#clock = setInterval(() => this.#look(), bounds.periodMs).unref()
  }

  /** Sets a callback to run if the body is rejected while arriving. */
  onGiveUp(giveUp: (refusal: Refusal) => void): void {
    this.#giveUp = giveUp
  }

  /**
   * Records the number of bytes received or decoded. Throws `quota_exhausted` if no memory is available for these
   * bytes.
   */
  grow(bytes: number): void {
    this.#received = bytes
    const wanted = reserved(bytes)
    if (wanted <= this.#bytes) return
    const more = Math.max(wanted - this.#bytes, STEP_BYTES)
    this.#room.grow(more)
    this.#bytes += more
  }

  /** Suspends the pace check while the server does not read the body. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#seen = this.#received
    this.#clock.refresh()
  }

  /** Counts a fully received body as a request. Throws `quota_exhausted` if too many requests are in flight. */
  settle(): void {
    clearInterval(this.#clock)
    if (this.#isCounted) return
    this.#room.grow(0, 1)
    this.#isCounted = true
  }

  release(): void {
    clearInterval(this.#clock)
    this.#room.release()
  }

  #look(): void {
    if (this.#isPaused) return
    const isSlow = this.#received - this.#seen < this.#bounds.periodBytes
    this.#seen = this.#received
    if (!isSlow) return
    this.#bytes = reserved(this.#received)
    this.#room.shrink(this.#bytes)
    this.#isCounted = false
    this.#slowMs += this.#bounds.periodMs
    if (this.#slot.isWanted) this.#giveUp?.(inTheWay())
    else if (this.#slowMs >= this.#bounds.slowMs) this.#giveUp?.(new LateBody())
  }
}

/** Caps the reservation, because large bodies have a separate limit (lib/http/body/large-memory.ts). */
const reserved = (bytes: number): number => Math.min(bytes, LARGE_BODY_BYTES)

const inTheWay = () =>
  new Refusal(
    'quota_exhausted',
    'the body is arriving too slowly while other requests wait; retry later, or send less at once'
  )
