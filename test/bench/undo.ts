/** What has to be ended and cleared away, in the reverse order of its making, however the benchmark ends. */
export class Undo {
  readonly #steps: (() => unknown)[] = []
  #running: Promise<void> = Promise.resolve()

  add(step: () => unknown): void {
    this.#steps.push(step)
  }

  /** Goes on where a step fails. Called again, it does what was added meanwhile. */
  run(): Promise<void> {
    this.#running = this.#running.then(() => this.#runSteps())
    return this.#running
  }

  async #runSteps(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step()
      } catch (error) {
        console.error((error as Error).message)
      }
    }
  }
}
