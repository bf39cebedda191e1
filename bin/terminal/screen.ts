/** The terminal, if stdout is one: its size, whether it shows colours, and its pager. */
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { type Line, renderLine } from './lines.ts'

export interface Shown {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export class Screen {
  /** Number of columns; infinite if stdout is not a terminal, because only terminals need lines to be cut. */
  readonly columns: number
  readonly #rows: number
  readonly #hasColours: boolean
  readonly #env: NodeJS.ProcessEnv
  readonly #write: (text: string) => Promise<void>

  constructor({ isTTY, columns, rows }: Shown, env: NodeJS.ProcessEnv, write: (text: string) => Promise<void>) {
    this.columns = isTTY ? (columns ?? 80) : Number.POSITIVE_INFINITY
    this.#rows = isTTY ? (rows ?? 24) : Number.POSITIVE_INFINITY
    this.#hasColours = isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
    this.#env = env
    this.#write = write
  }

  /** Writes lines immediately. */
  async write(lines: readonly Line[]): Promise<void> {
    if (lines.length > 0) await this.#write(this.#render(lines))
  }

  /** Writes lines through the pager if they do not fit on the terminal. */
  async page(lines: readonly Line[]): Promise<void> {
    const text = this.#render(lines)
    const pager = this.#env.PAGER ?? 'less'
    const isLong = text.split('\n').length > this.#rows
    if (!isLong || pager === '' || pager === 'cat' || !(await this.#runPager(pager, text))) await this.#write(text)
  }

  #render(lines: readonly Line[]): string {
    return lines.map(line => `${renderLine(line, this.#hasColours)}\n`).join('')
  }

  /** Returns false if the pager could not be run. */
  #runPager(pager: string, text: string): Promise<boolean> {
    return new Promise(resolve => {
      // As in git: quit if everything fits, pass colours, keep the text on the screen. The user's own LESS takes
      // precedence.
      const env = { LESS: 'FRX', ...this.#env }
      const child = spawn(pager, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env })
      // A pager that the user quits early stops reading.
      const input = child.stdin as Writable
      input.on('error', () => {})
      // The shell exits with code 127 if the program does not exist.
      child.on('error', () => resolve(false))
      child.on('close', code => resolve(code !== 127))
      // The pager handles Ctrl-C.
      const ignore = () => {}
      process.on('SIGINT', ignore)
      child.on('close', () => process.off('SIGINT', ignore))
      input.end(text)
    })
  }
}
