/**
 * Trace time in milliseconds since 1970, based on the monotonic clock, so that setting the wall clock does not change
 * durations, and no step ends before it starts. A process's traces share an offset to the wall clock, so that a trace
 * sorts before any trace that it starts. A new offset is used when the wall clock has drifted by more than
 * MOST_DRIFT_MS.
 */
const MOST_DRIFT_MS = 20
let shared = Date.now() - performance.now()

export class Clock {
  readonly #offset: number

  constructor() {
    const offset = Date.now() - performance.now()
    if (Math.abs(offset - shared) > MOST_DRIFT_MS) shared = offset
    this.#offset = shared
  }

  /** Returns the current time in milliseconds, with microseconds as the fraction. */
  now(): number {
    return this.#offset + performance.now()
  }
}

/** The service accepts the years 0001 to 9999. */
const EARLIEST = Date.parse('0001-01-02T00:00:00Z')
const LATEST = Date.parse('9999-12-30T00:00:00Z')

/** Returns an ISO 8601 timestamp with microseconds. */
export function timestamp(ms: number): string {
  const whole = Math.floor(ms)
  // Just below a full millisecond, floating-point rounding can yield 1000.
  const micro = Math.min(999, Math.floor((ms - whole) * 1000))
  return new Date(whole).toISOString().replace('Z', `${String(micro).padStart(3, '0')}Z`)
}

/**
 * A time given by an application. ISO 8601 text without a zone is in UTC, as on the server. A number counts seconds
 * since 1970 or, from 10^11 on, milliseconds.
 */
export type Time = Date | number | string

/** Seconds reach this number in the year 5138; milliseconds reached it in 1973. */
const FIRST_MILLISECONDS = 1e11
/** Microseconds and nanoseconds are larger, and are rejected. */
const LAST_MILLISECONDS = 1e14
const WITHOUT_ZONE = /\d[Tt ]\d\d:?\d\d(?::?\d\d(?:[.,]\d+)?)?$/

/** Converts a time given by an application. Returns undefined if the time cannot be read or recorded. */
export function momentOf(given: Time | undefined): number | undefined {
  const ms = given instanceof Date ? given.getTime() : typeof given === 'number' ? millisecondsOf(given) : parse(given)
  return ms >= EARLIEST && ms <= LATEST ? ms : undefined
}

function millisecondsOf(given: number): number {
  if (Math.abs(given) >= LAST_MILLISECONDS) return Number.NaN
  return Math.abs(given) >= FIRST_MILLISECONDS ? given : given * 1000
}

const parse = (given: string | undefined): number =>
  typeof given === 'string' ? Date.parse(WITHOUT_ZONE.test(given) ? `${given}Z` : given) : Number.NaN
