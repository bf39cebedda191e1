/**
 * Shares the capacity for large work among parties (projects). No party gets all of the capacity, so no party has to
 * wait until another party finishes. Work that does not fit waits, and parties take turns with equal weight. Work is
 * rejected if it has waited too long, or if too much work of the same party is already waiting.
 */
import { Refusal } from '../errors.ts'

export interface SlotBounds {
  /** Maximum admitted weight, in total and for one party. */
  readonly total: number
  readonly each: number
  /** Maximum number of slots that one party may wait for. */
  readonly line: number
  readonly waitMs: number
}

interface Waiting {
  readonly party: unknown
  readonly weight: number
  /** Position in line, in units of weight, after the party's earlier work. */
  readonly turn: number
  readonly late: NodeJS.Timeout
  enter(): void
  refuse(): void
}

export class Slots {
  readonly #bounds: SlotBounds
  /** Admitted weight by party. */
  readonly #inside = new Map<unknown, number>()
  /** Waiting work in order of arrival. */
  readonly #waiting = new Set<Waiting>()
  /** Position that each party's next work will get; empty while no work waits. */
  readonly #next = new Map<unknown, number>()
  /** Position of the work that entered last. */
  #entered = 0
  #taken = 0

  constructor(bounds: SlotBounds) {
    this.#bounds = bounds
  }

  /**
   * Returns a slot for one work item. The work has not yet entered the slot. `party` is undefined while the work's
   * project is unknown.
   */
  of(party: unknown): Slot {
    return new Slot(this, party)
  }

  /**
   * Calls the `enter` callback when it is the work's turn and capacity is free, which may be immediately. Calls the
   * `refuse` callback if the wait is too long. Throws `quota_exhausted` if too much of the party's work is already
   * waiting. The returned function frees the slot, or removes the work from the line.
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

  /** Returns whether any waiting work could enter if this party's work of the given weight left. */
  wants(party: unknown, weight: number): boolean {
    for (const waiting of this.#waiting) {
      if (this.#mayHold(waiting, waiting.party === party ? weight : 0)) return true
    }
    return false
  }

  #admit(): void {
    for (let first = this.#first(); first !== undefined; first = this.#first()) {
      // No work overtakes the first work in line, which therefore never starves.
      if (this.#taken > 0 && this.#taken + first.weight > this.#bounds.total) return
      this.#dequeue(first)
      this.#entered = first.turn
      this.#take(first.party, first.weight)
      first.enter()
    }
    if (this.#waiting.size > 0) return
    this.#next.clear()
    this.#entered = 0
  }

  /** Returns the first work in line that its party may hold. */
  #first(): Waiting | undefined {
    let first: Waiting | undefined
    for (const waiting of this.#waiting) {
      if (first !== undefined && waiting.turn >= first.turn) continue
      if (this.#mayHold(waiting)) first = waiting
    }
    return first
  }

  /** Returns whether the party may hold this work. A party without admitted work may hold work of any weight. */
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

/** A slot for one work item. */
export class Slot {
  readonly #slots: Slots
  readonly #party: unknown
  #entered: Promise<void> | undefined
  #weight = 0
  #isInside = false
  #isOver = false
  #leave: (() => void) | undefined

  constructor(slots: Slots, party: unknown) {
    this.#slots = slots
    this.#party = party
  }

  get isInside(): boolean {
    return this.#isInside
  }

  /** Whether this work keeps other work waiting. */
  get isWanted(): boolean {
    return this.#isInside && this.#slots.wants(this.#party, this.#weight)
  }

  /**
   * Resolves when it is the work's turn. Rejects with `quota_exhausted` if the wait is too long or too much work is
   * already waiting.
   */
  enter(weight = 1): Promise<void> {
    this.#entered ??= new Promise((resolve, reject) => {
      if (this.#isOver) return
      this.#weight = weight
      const enter = () => {
        this.#isInside = true
        resolve()
      }
      this.#leave = this.#slots.join(this.#party, weight, enter, reject)
    })
    return this.#entered
  }

  /** Frees the slot, or removes the work from the line. Called when the work is finished or no longer needed. */
  leave(): void {
    this.#isOver = true
    this.#isInside = false
    this.#leave?.()
    this.#leave = undefined
  }
}

const busy = () => new Refusal('quota_exhausted', 'the service is busy with other large requests; retry later')
