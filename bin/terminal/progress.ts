/**
 * Shows a long command's progress on stderr: a single redrawn line on a terminal, or a line every few seconds
 * elsewhere, such as in a log.
 */
import { visible, visibleLines } from '../../lib/log-text.ts'

export interface Terminal {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const TERMINAL_MS = 100
const LOG_MS = 5000
/** Moves the cursor to the beginning of the line and clears the line. */
const CLEAR = '\r\u001b[K'

export class Progress {
  readonly #terminal: Terminal
  readonly #began = performance.now()
  #shownAt = Number.NEGATIVE_INFINITY
  #isDrawn = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    // In a log, the first line appears only if the work takes longer than LOG_MS.
    if (!terminal.isTTY) this.#shownAt = this.#began
  }

  /** Shows the progress if an update is due. `describe` receives the seconds since the start and returns the line. */
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

  /** Writes a line that later progress does not overwrite. */
  say(line: string): void {
    this.clear()
    this.#terminal.write(`${visibleLines(line)}\n`)
  }

  clear(): void {
    if (this.#isDrawn) this.#terminal.write(CLEAR)
    this.#isDrawn = false
  }
}
