/**
 * Room for large work, shared by several parties (projects). One party never has all of it, so another party's work
 * does not depend on when the first one finishes. Work that does not fit waits. Parties enter in turn, each with as
 * much weight as the others. Waiting ends: work that has waited too long, or has too much work of its own party before
 * it, is refused.
 */
import { Refusal } from '../errors.ts'

export interface PlaceBounds {
  /** The weight that fits, and how much of it one party may have. */
  readonly room: number
  readonly each: number
  /** How many places one party may wait for at a time. */
  readonly line: number
  readonly waitMs: number
}

interface Waiting {
  readonly party: unknown
  readonly weight: number
  /** Its position in line, in units of weight: after the earlier work of its party. */
  readonly turn: number
  readonly late: NodeJS.Timeout
  enter(): void
  refuse(): void
}

export class Places {
  readonly #bounds: PlaceBounds
  /** The weight that each party has inside. */
  readonly #inside = new Map<unknown, number>()
  /** In the order of arrival. */
  readonly #waiting = new Set<Waiting>()
  /** The position of each party's next work, while anybody waits. */
  readonly #next = new Map<unknown, number>()
  /** The position of the work that entered last. */
  #entered = 0
  #taken = 0

  constructor(bounds: PlaceBounds) {
    this.#bounds = bounds
  }

  /** A place for one piece of work, not yet taken. `party` is undefined while it is not known whose work it is. */
  of(party: unknown): Place {
    return new Place(this, party)
  }

  /**
   * Calls `enter` when there is room and it is the party's turn, at once if it can; or `refuse`, later. Throws
   * `quota_exhausted` if the party has too many in line. The function that it returns leaves: the room, or the line.
   */
  join(party: unknown, weight: number, enter: () => void, refuse: (refusal: Refusal) => void): () => void {
    if (this.#countWaiting(party) >= this.#bounds.line) throw busy()
    const turn = Math.max(this.#entered, this.#next.get(party) ?? 0)
    this.#next.set(party, turn + weight)
    let isInside = false
    const waiting: Waiting = {
      party,
      weight,
      turn,
      late: setTimeout(() => waiting.refuse(), this.#bounds.waitMs).unref(),
      enter: () => {
        isInside = true
        enter()
      },
      refuse: () => {
        this.#dequeue(waiting)
        refuse(busy())
        this.#admit()
      }
    }
    this.#waiting.add(waiting)
    this.#admit()
    return () => {
      if (isInside) this.#take(party, -weight)
      else this.#dequeue(waiting)
      isInside = false
      this.#admit()
    }
  }

  /** Whether anybody waits who could enter if this work of a party left. */
  wants(party: unknown, weight: number): boolean {
    for (const waiting of this.#waiting) {
      if (this.#mayHold(waiting, waiting.party === party ? weight : 0)) return true
    }
    return false
  }

  #admit(): void {
    for (let first = this.#first(); first !== undefined; first = this.#first()) {
      // No work overtakes the first in line, so it is sure to enter.
      if (this.#taken > 0 && this.#taken + first.weight > this.#bounds.room) return
      this.#dequeue(first)
      this.#entered = first.turn
      this.#take(first.party, first.weight)
      first.enter()
    }
    if (this.#waiting.size > 0) return
    this.#next.clear()
    this.#entered = 0
  }

  /** The first in line among the work whose party may have more inside. */
  #first(): Waiting | undefined {
    let first: Waiting | undefined
    for (const waiting of this.#waiting) {
      if (first !== undefined && waiting.turn >= first.turn) continue
      if (this.#mayHold(waiting)) first = waiting
    }
    return first
  }

  /** A party that has nothing inside may hold work of any weight. */
  #mayHold({ party, weight }: Waiting, leaving = 0): boolean {
    const inside = (this.#inside.get(party) ?? 0) - leaving
    return inside === 0 || inside + weight <= this.#bounds.each
  }

  #dequeue(waiting: Waiting): void {
    clearTimeout(waiting.late)
    this.#waiting.delete(waiting)
  }

  #take(party: unknown, weight: number): void {
    this.#taken += weight
    const inside = (this.#inside.get(party) ?? 0) + weight
    if (inside === 0) this.#inside.delete(party)
    else this.#inside.set(party, inside)
  }

  #countWaiting(party: unknown): number {
    let count = 0
    for (const waiting of this.#waiting) if (waiting.party === party) count++
    return count
  }
}

/** A place for one piece of work. */
export class Place {
  readonly #places: Places
  readonly #party: unknown
  #entered: Promise<void> | undefined
  #weight = 0
  #isInside = false
  #isOver = false
  #leave: (() => void) | undefined

  constructor(places: Places, party: unknown) {
    this.#places = places
    this.#party = party
  }

  get isInside(): boolean {
    return this.#isInside
  }

  /** Whether this work keeps out other work, which waits. */
  get isWanted(): boolean {
    return this.#isInside && this.#places.wants(this.#party, this.#weight)
  }

  /** Resolves when it is its turn. Rejects with `quota_exhausted` if it does not get one. */
  enter(weight = 1): Promise<void> {
    this.#entered ??= new Promise((resolve, reject) => {
      if (this.#isOver) return
      this.#weight = weight
      const enter = () => {
        this.#isInside = true
        resolve()
      }
      this.#leave = this.#places.join(this.#party, weight, enter, reject)
    })
    return this.#entered
  }

  /** The work is over, or need not be done any more. */
  leave(): void {
    this.#isOver = true
    this.#isInside = false
    this.#leave?.()
    this.#leave = undefined
  }
}

const busy = () => new Refusal('quota_exhausted', 'the service is busy with other large requests; retry later')
