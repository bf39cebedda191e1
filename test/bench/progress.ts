/**
 * Says on stderr what is being done: one line that changes on a terminal, elsewhere a line every few seconds. Between two
 * steps is also where an interruption takes effect, so that nothing is cleared away while it is in use.
 */

/** Thrown where the next step would begin. */
export class Interrupted extends Error {}

const TERMINAL_MS = 200
const LOG_MS = 5_000

export class Progress {
  readonly #isTerminal = process.stderr.isTTY === true
  readonly #began = Date.now()
  readonly #timer: NodeJS.Timeout
  #step = ''
  #isInterrupted = false

  constructor() {
    this.#timer = setInterval(() => this.#print(), this.#isTerminal ? TERMINAL_MS : LOG_MS)
    this.#timer.unref()
  }

  /**
   * Names the step that begins; an empty string prints nothing. Throws Interrupted instead if the user has interrupted.
   */
  set step(text: string) {
    if (this.#isInterrupted) throw new Interrupted()
    this.#step = text
    if (this.#isTerminal) this.#print()
  }

  get isInterrupted(): boolean {
    return this.#isInterrupted
  }

  interrupt(): void {
    this.#step = 'stopping'
    this.#isInterrupted = true
  }

  end(): void {
    clearInterval(this.#timer)
    process.stderr.write(this.#clear)
  }

  get #clear(): string {
    return this.#isTerminal ? '\r\u001b[K' : ''
  }

  #print(): void {
    if (this.#step === '') return
    const seconds = Math.round((Date.now() - this.#began) / 1_000)
    const width = this.#isTerminal ? process.stderr.columns - 1 : Number.POSITIVE_INFINITY
    const line = `${String(seconds).padStart(4)} s  ${this.#step}`.slice(0, width)
    process.stderr.write(this.#isTerminal ? this.#clear + line : `${line}\n`)
  }
}
