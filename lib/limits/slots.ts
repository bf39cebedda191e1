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

export class Slots {
  readonly #bounds: SlotBounds
  /** Admitted weight by party. */
  readonly #inside = new Map<unknown, number>()
  /** Waiting work in order of arrival. */
  readonly #waiting = new Set<Slot>()
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
   * Lets the work wait for its turn, which may come immediately. Throws `quota_exhausted` if too much of the party's
   * work is already waiting. Called by Slot only.
   */
  join(slot: Slot): void {
    if (this.#countWaiting(slot.party) >= this.#bounds.line) throw busy()
    slot.turn = Math.max(this.#entered, this.#next.get(slot.party) ?? 0)
    this.#next.set(slot.party, slot.turn + slot.weight)
    slot.late = setTimeout(() => slot.refuse(), this.#bounds.waitMs).unref()
    this.#waiting.add(slot)
    this.#admit()
  }

  /** Frees the slot, or removes the work from the line. Called by Slot only. */
  part(slot: Slot): void {
    if (slot.isInside) this.#take(slot.party, -slot.weight)
    else this.#dequeue(slot)
    this.#admit()
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
      first.admit()
    }
    if (this.#waiting.size > 0) return
    this.#next.clear()
    this.#entered = 0
  }

  /** Returns the first work in line that its party may hold. */
  #first(): Slot | undefined {
    let first: Slot | undefined
    for (const waiting of this.#waiting) {
      if (first !== undefined && waiting.turn >= first.turn) continue
      if (this.#mayHold(waiting)) first = waiting
    }
    return first
  }

  /** Returns whether the party may hold this work. A party without admitted work may hold work of any weight. */
  #mayHold({ party, weight }: Slot, leaving = 0): boolean {
    const inside = (this.#inside.get(party) ?? 0) - leaving
    return inside === 0 || inside + weight <= this.#bounds.each
  }

  #dequeue(waiting: Slot): void {
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
  readonly party: unknown
  weight = 0
  /** Position in line, in units of weight, after the party's earlier work. */
  turn = 0
  /** Ends the wait when it has taken too long. */
  late: NodeJS.Timeout | undefined
  readonly #slots: Slots
  #entered: Promise<void> | undefined
  #settle: { resolve(): void; reject(refusal: Refusal): void } | undefined
  #isInside = false
  #isOver = false

  constructor(slots: Slots, party: unknown) {
    this.#slots = slots
    this.party = party
  }

  get isInside(): boolean {
    return this.#isInside
  }

  /** Whether this work keeps other work waiting. */
  get isWanted(): boolean {
    return this.#isInside && this.#slots.wants(this.party, this.weight)
  }

  /**
   * Resolves when it is the work's turn. Rejects with `quota_exhausted` if the wait is too long or too much work is
   * already waiting.
   */
  enter(weight = 1): Promise<void> {
    this.#entered ??= new Promise((resolve, reject) => {
      if (this.#isOver) return
      this.weight = weight
      this.#settle = { resolve, reject }
      this.#slots.join(this)
    })
    return this.#entered
  }

  /** Called by Slots only. */
  admit(): void {
    this.#isInside = true
    this.#settle?.resolve()
  }

  /** Called by Slots only. */
  refuse(): void {
    this.#settle?.reject(busy())
    this.leave()
  }

  /** Frees the slot, or removes the work from the line. Called when the work is finished or no longer needed. */
  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#slots.part(this)
    this.#isInside = false
  }
}

const busy = () => new Refusal('quota_exhausted', 'the service is busy with other large requests; retry later')
