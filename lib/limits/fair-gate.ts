/**
 * Admits work up to a total weight, in bytes or in items. When the gate is full, further work waits. Parties (projects)
 * take turns with equal weight: a party's work waits behind the party's own earlier work, but not behind all work of
 * other parties.
 *
 * Waiting work has a position in line, measured in units of weight. The position follows the party's earlier work, and
 * is never lower than the position of the work that entered last. The first work in line enters as soon as the gate has
 * capacity for it. No other work overtakes the first work, which therefore never starves.
 */
interface Waiting {
  readonly weight: number
  readonly place: number
  enter(): void
}

export class FairGate {
  readonly #capacity: number
  /** Waiting work by party, in order of arrival. */
  readonly #waiting = new Map<unknown, Waiting[]>()
  /** Position that each party's next work will get; empty while no work waits. */
  readonly #next = new Map<unknown, number>()
  /** Position of the work that entered last. */
  #entered = 0
  #inside = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /**
   * Resolves when the party's turn has come and the work fits. Work larger than the gate's capacity enters when the
   * gate is empty.
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

  /** Returns the party whose turn is next. Among equal positions, the party that has waited longest is next. */
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
