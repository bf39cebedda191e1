/**
 * Lets work of a limited weight (in bytes, or 1 for each) in at a time. When it is full, further work waits for its
 * turn.
 */
export class Gate {
  readonly #capacity: number
  readonly #waiting: { weight: number; enter: () => void }[] = []
  #inside = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Resolves once there is room. Work that is larger than the capacity enters when nothing else is inside. */
  async enter(weight = 1): Promise<void> {
    if (this.#waiting.length === 0 && this.#fits(weight)) {
      this.#inside += weight
      return
    }
    await new Promise<void>(resolve => this.#waiting.push({ weight, enter: resolve }))
  }

  leave(weight = 1): void {
    this.#inside -= weight
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.weight); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#inside += next.weight
      next.enter()
    }
  }

  #fits(weight: number): boolean {
    return this.#inside === 0 || this.#inside + weight <= this.#capacity
  }
}
