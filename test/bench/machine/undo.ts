/** Stops and removes everything in the reverse order of its creation, however the benchmark ends. */
export class Undo {
  readonly #steps: (() => unknown)[] = []

  add(step: () => unknown): void {
    this.#steps.push(step)
  }

  /** Runs all steps, even after a step that fails. */
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
