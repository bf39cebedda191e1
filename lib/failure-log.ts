/**
 * Logs recurring failures without flooding the log: the first failure of each cause, then at most one reminder with a
 * count per interval, and a line when the work succeeds again.
 */
import type { Logger } from './log.ts'

/** Decides which failures of a recurring task are logged. Callers pass the time, in ms of performance.now(). */
export class Recurrence {
  readonly #remindMs: number
  /** Causes with the time of their latest log line and the number of failures since then. */
  readonly #causes = new Map<string, { loggedAt: number; unlogged: number }>()
  #since: number | undefined
  #count = 0

  constructor(remindMs: number) {
    this.#remindMs = remindMs
  }

  /** Counts a failure. Returns the number to report, including this failure; undefined if no log line is due. */
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

  /** Ends a series of failures. Returns the number and duration of the failures; undefined if there were none. */
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
  /** Log message for a failure, such as `the database refused a batch`. */
  readonly failed: string
  /** Log message for the first success after failures. If undefined, no such line is logged. */
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
    // A cause is identified by its code if possible, because messages name files and rows and therefore vary endlessly.
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
 * Returns the error behind a refusal. If a connection failed at all addresses of a host name, returns the first of the
 * errors that Node reports as a group.
 */
function rootOf(error: unknown): unknown {
  const { cause } = (error ?? {}) as { cause?: unknown }
  const root = cause ?? error
  return root instanceof AggregateError ? root.errors[0] : root
}

/** Returns the cause, as worded by PostgreSQL, the driver or Node. */
export function causeOf(error: unknown): string {
  const { message, code } = (rootOf(error) ?? {}) as { message?: string; code?: unknown }
  return message || String(code)
}

/**
 * Returns a failure's fields for the log. Other fields of a database error are omitted, because they may hold client
 * data. A stack trace is included only for faults in our own code.
 */
function describeFailure(error: unknown): { cause: string; code?: string; stack?: string } {
  const { name, code, stack } = (rootOf(error) ?? {}) as { name?: string; code?: unknown; stack?: string }
  return {
    cause: causeOf(error),
    ...(typeof code === 'string' ? { code } : name !== 'PostgresError' && stack !== undefined && { stack })
  }
}
