/**
 * Reports progress on stderr: a changing line on a terminal, elsewhere a new line every few seconds. An interruption
 * takes effect between two steps, so that nothing is removed while it is in use.
 */

/** Thrown at the start of the next step after an interruption. */
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

  /** Names the current step. An empty string prints nothing. Throws Interrupted if the user has interrupted. */
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
