/**
 * Shows on stderr how far a long command is: on a terminal by one line, which is drawn again and again; elsewhere,
 * such as in a log, by a line every few seconds.
 */
import { visible, visibleLines } from '../../lib/log-text.ts'

export interface Terminal {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const TERMINAL_MS = 100
const LOG_MS = 5000
/** Moves to the beginning of the line, and clears it. */
const CLEAR = '\r\u001b[K'

export class Progress {
  readonly #terminal: Terminal
  readonly #began = performance.now()
  #shownAt = Number.NEGATIVE_INFINITY
  #isDrawn = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    // A log gets its first line only if the work takes long.
    if (!terminal.isTTY) this.#shownAt = this.#began
  }

  /**
   * Shows how far the work is. If it is time for that, calls `describe` for the line, with the seconds since the
   * command began.
   */
  show(describe: (seconds: number) => string): void {
    const now = performance.now()
    if (now - this.#shownAt < (this.#terminal.isTTY ? TERMINAL_MS : LOG_MS)) return
    this.#shownAt = now
    const line = visible(describe((now - this.#began) / 1000))
    if (!this.#terminal.isTTY) {
      this.#terminal.write(`${line}\n`)
      return
    }
    this.#terminal.write(CLEAR + line.slice(0, (this.#terminal.columns ?? 80) - 1))
    this.#isDrawn = true
  }

  /** Writes a line that stays. */
  say(line: string): void {
    this.clear()
    this.#terminal.write(`${visibleLines(line)}\n`)
  }

  /** Clears the line that was drawn. */
  clear(): void {
    if (this.#isDrawn) this.#terminal.write(CLEAR)
    this.#isDrawn = false
  }
}
