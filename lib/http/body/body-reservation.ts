/**
 * Reserves room for one body, from before the body is read until its request is answered, and watches how it arrives.
 *
 * The announced length is reserved first, so that a body for which there is no room is refused before it is read. If a
 * body arrives too slowly, only the bytes that have arrived stay reserved: otherwise a hundred clients that announce
 * much and send nothing would keep all others out. A body that arrives at a fair pace keeps its whole room, however
 * long it takes: otherwise half-read bodies would be refused while the network is full, and their resends would fare no
 * better.
 *
 * A slow body may go on while it delays no other request. It is given up if it holds a place of large bodies that
 * another body waits for, or if it has been slow for too long. Time in which the server does not read the body does not
 * count.
 */
import { Refusal } from '../../errors.ts'
import type { Admission, Room } from '../../limits/admission.ts'
import type { ArrivalBounds } from '../../limits/arrival.ts'
import type { Place } from '../../limits/places.ts'
import { LARGE_BODY_BYTES } from '../../schema/input.ts'

/** The room that is first reserved for a body that comes in chunks, and by which it grows. */
const STEP_BYTES = 131_072

export interface Expected {
  /** The announced length; undefined for a body that comes in chunks. */
  readonly length: number | undefined
  /** Whose body it is. */
  readonly party: number | undefined
  /** The place of the body if it is a large one. */
  readonly place: Place
}

/** The body took too long to arrive. It is refused as node's parser refuses a head that takes too long. */
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
  readonly #place: Place
  readonly #clock: NodeJS.Timeout
  readonly #room: Room
  /** The bytes that are reserved; that have arrived; and that had arrived at the last look. */
  #bytes: number
  #received = 0
  #seen = 0
  /** The time that the body has spent below the pace. */
  #slowMs = 0
  /** Whether the body counts as a request as well, and not only by its bytes. */
  #isCounted = true
  #isPaused = false
  #giveUp: ((refusal: Refusal) => void) | undefined

  /** Throws `quota_exhausted` if there is no room. */
  constructor(admission: Pick<Admission, 'admit'>, { length, party, place }: Expected, bounds: ArrivalBounds) {
    this.#bounds = bounds
    this.#place = place
    this.#bytes = reserved(length ?? STEP_BYTES)
    this.#room = admission.admit(this.#bytes, 1, party)
    this.#clock = setInterval(() => this.#look(), bounds.periodMs).unref()
  }

  /** Calls this if the body is given up before it has arrived. */
  onGiveUp(giveUp: (refusal: Refusal) => void): void {
    this.#giveUp = giveUp
  }

  /** Notes how many bytes there are of the body. Throws `quota_exhausted` if there is no room for them. */
  grow(bytes: number): void {
    this.#received = bytes
    const wanted = reserved(bytes)
    if (wanted <= this.#bytes) return
    const more = Math.max(wanted - this.#bytes, STEP_BYTES)
    this.#room.grow(more)
    this.#bytes += more
  }

  /** The body is not read for now. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#seen = this.#received
    this.#clock.refresh()
  }

  /**
   * The whole body has arrived, and counts as a request from now on. Throws `quota_exhausted` if there are too many.
   */
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
    if (this.#place.isWanted) this.#giveUp?.(inTheWay())
    else if (this.#slowMs >= this.#bounds.slowMs) this.#giveUp?.(new LateBody())
  }
}

/** A large body has its room among large bodies. */
const reserved = (bytes: number): number => Math.min(bytes, LARGE_BODY_BYTES)

const inTheWay = () =>
  new Refusal('quota_exhausted', 'the body arrives too slowly while others wait; retry later, or send less at once')
