/**
 * Logs failures that come again and again, without flooding the log: the first of each cause, then a reminder with a
 * count once per interval, and a line when the work succeeds again.
 */
import type { Logger } from './log.ts'

/**
 * Decides which failures of one piece of work are worth a line. It has no clock of its own: callers pass the time, in
 * ms of performance.now().
 */
export class Recurrence {
  readonly #remindMs: number
  /** By cause: when it was last logged, and how often it has occurred since. */
  readonly #causes = new Map<string, { loggedAt: number; unlogged: number }>()
  #since: number | undefined
  #count = 0

  constructor(remindMs: number) {
    this.#remindMs = remindMs
  }

  /**
   * Notes a failure. Returns how many failures of this cause the line reports, this one included; undefined: no line.
   */
  fail(cause: string, now: number): number | undefined {
    this.#since ??= now
    this.#count++
    const known = this.#causes.get(cause)
    if (known !== undefined && now - known.loggedAt < this.#remindMs) {
      known.unlogged++
      return undefined
    }
    this.#causes.set(cause, { loggedAt: now, unlogged: 0 })
    return 1 + (known?.unlogged ?? 0)
  }

  /** Notes a success. Returns how often the work failed before it, and for how long; undefined if it had not failed. */
  succeed(now: number): { failures: number; ms: number } | undefined {
    if (this.#since === undefined) return undefined
    const ended = { failures: this.#count, ms: Math.round(now - this.#since) }
    this.#since = undefined
    this.#count = 0
    this.#causes.clear()
    return ended
  }
}

export interface FailureLogOptions {
  /** The message of a failure, such as `the database refused a batch`. */
  readonly failed: string
  /** The message when the work succeeds again. Without it there is no such line. */
  readonly recovered?: string
  readonly remindMs: number
}

export class FailureLog {
  readonly #log: Logger
  readonly #options: FailureLogOptions
  readonly #recurrence: Recurrence

  constructor(log: Logger, options: FailureLogOptions) {
    this.#log = log
    this.#options = options
    this.#recurrence = new Recurrence(options.remindMs)
  }

  fail(error: unknown, fields: Readonly<Record<string, unknown>> = {}): void {
    const { cause, code, stack } = describeFailure(error)
    // Messages name files and rows, so there is no end of them. There are few codes.
    const times = this.#recurrence.fail(code ?? cause, performance.now())
    if (times === undefined) return
    const repeated = times > 1 && { times }
    this.#log.warn({ cause, code, ...fields, ...repeated, ...(times === 1 && { stack }) }, this.#options.failed)
  }

  succeed(): void {
    const ended = this.#recurrence.succeed(performance.now())
    const { recovered } = this.#options
    if (ended !== undefined && recovered !== undefined) this.#log.info(ended, recovered)
  }
}

/**
 * The error behind a refusal, and the first of the errors that node gives together when every address of a name fails.
 */
function rootOf(error: unknown): unknown {
  const { cause } = (error ?? {}) as { cause?: unknown }
  const root = cause ?? error
  return root instanceof AggregateError ? root.errors[0] : root
}

/** The cause, in the words of PostgreSQL, the driver or node. */
export function causeOf(error: unknown): string {
  const { message, code } = (rootOf(error) ?? {}) as { message?: string; code?: unknown }
  return message || String(code)
}

/**
 * The fields of a failure for the log. Other fields of a database error may hold text that clients sent. Only faults of
 * our own code have a stack.
 */
function describeFailure(error: unknown): { cause: string; code?: string; stack?: string } {
  const { name, code, stack } = (rootOf(error) ?? {}) as { name?: string; code?: unknown; stack?: string }
  return {
    cause: causeOf(error),
    ...(typeof code === 'string' ? { code } : name !== 'PostgresError' && stack !== undefined && { stack })
  }
}
