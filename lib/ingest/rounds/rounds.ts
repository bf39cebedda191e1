/** Work that is done again and again, with a pause in between. */
import type { Logger } from '../../log.ts'

export interface RoundsOptions {
  /** What the work is, as the log says it where a round fails. */
  readonly what: string
  readonly pauseMs: number
  readonly log: Logger
}

export class Rounds {
  readonly #options: RoundsOptions
  readonly #work: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: RoundsOptions, work: () => Promise<void>) {
    this.#options = options
    this.#work = work
    this.#wait()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #wait(): void {
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#round(), this.#options.pauseMs).unref()
  }

  async #round(): Promise<void> {
    const { what, log } = this.#options
    try {
      await this.#work()
    } catch (error) {
      if (!this.#isClosed) log.debug({ err: error }, `${what}: a round failed; the next one will try again`)
    }
    this.#wait()
  }
}
