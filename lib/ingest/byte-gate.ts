/** Lets so many bytes in at a time; who comes when it is full waits in line. */
export class ByteGate {
  readonly #capacity: number
  readonly #waiting: { bytes: number; enter: () => void }[] = []
  #inside = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Resolves once there is room. Something larger than the gate enters when it is alone. */
  async enter(bytes: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#inside += bytes
      return
    }
    await new Promise<void>(resolve => this.#waiting.push({ bytes, enter: resolve }))
  }

  leave(bytes: number): void {
    this.#inside -= bytes
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#inside += next.bytes
      next.enter()
    }
  }

  #fits(bytes: number): boolean {
    return this.#inside === 0 || this.#inside + bytes <= this.#capacity
  }
}
