/**
 * Lets work of a limited weight (in bytes, or 1 for each) in at a time. When it is full, further work waits for its
 * turn. Several parties (projects) enter in turn, each with as much weight as the others: the work of a party waits
 * behind the party's earlier work, but not behind all of the others' work.
 *
 * Work that waits has a place in line, in units of weight: after the earlier work of its party, and no further ahead
 * than the work that entered last. The first in line enters as soon as it fits. No work overtakes it, so it is sure to
 * enter.
 */
interface Waiting {
  readonly weight: number
  readonly place: number
  enter(): void
}

export class FairGate {
  readonly #capacity: number
  /** The waiting work of each party, in the order of arrival. */
  readonly #waiting = new Map<unknown, Waiting[]>()
  /** The position of each party's next work, while anybody waits. */
  readonly #next = new Map<unknown, number>()
  /** The position of the work that entered last. */
  #entered = 0
  #inside = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /**
   * Resolves once there is room and it is this party's turn. Work larger than the gate enters when nothing else is
   * inside.
   */
  async enter(party: unknown, weight = 1): Promise<void> {
    if (this.#waiting.size === 0 && this.#fits(weight)) {
      this.#inside += weight
      return
    }
    await new Promise<void>(resolve => this.#line(party, weight, resolve))
  }

  leave(weight = 1): void {
    this.#inside -= weight
    for (let party = this.#first(); party !== undefined; party = this.#first()) {
      const own = this.#waiting.get(party) as Waiting[]
      const { weight, place, enter } = own[0] as Waiting
      if (!this.#fits(weight)) return
      own.shift()
      if (own.length === 0) this.#waiting.delete(party)
      this.#entered = place
      this.#inside += weight
      enter()
    }
    this.#next.clear()
    this.#entered = 0
  }

  #line(party: unknown, weight: number, enter: () => void): void {
    const place = Math.max(this.#entered, this.#next.get(party) ?? 0)
    this.#next.set(party, place + weight)
    const own = this.#waiting.get(party)
    if (own === undefined) this.#waiting.set(party, [{ weight, place, enter }])
    else own.push({ weight, place, enter })
  }

  /** The party whose turn is next. Of several with the same position, the one that has waited longest. */
  #first(): unknown {
    let first: unknown
    let least = Number.POSITIVE_INFINITY
    for (const [party, [next]] of this.#waiting) {
      if (next === undefined || next.place >= least) continue
      least = next.place
      first = party
    }
    return first
  }

  #fits(weight: number): boolean {
    return this.#inside === 0 || this.#inside + weight <= this.#capacity
  }
}
