/** Ends and clears away everything in the reverse order of its making, however the benchmark ends. */
export class Undo {
  readonly #steps: (() => unknown)[] = []

  add(step: () => unknown): void {
    this.#steps.push(step)
  }

  /** Goes on where a step fails. */
  async run(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step()
      } catch (error) {
        console.error((error as Error).message)
      }
    }
  }
}
