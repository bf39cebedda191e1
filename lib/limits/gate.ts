/** Lets so much in at a time, by weight (bytes, or one for each). When it is full, the next one waits for its turn. */
export class Gate {
  readonly #capacity: number
  readonly #waiting: { weight: number; enter: () => void }[] = []
  #inside = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Resolves once there is room. Something larger than the gate enters when it is alone. */
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
