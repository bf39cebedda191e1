/**
 * The time of a trace: milliseconds since 1970, by the monotonic clock. A wall clock that is set while a trace runs
 * changes no duration, and no end comes before its start. The traces of a process share their time, so that one that
 * starts another comes first, until the wall clock differs from it.
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

  /** With microseconds behind the point. */
  now(): number {
    return this.#offset + performance.now()
  }
}

/** The service accepts the years 0001 to 9999. */
const EARLIEST = Date.parse('0001-01-02T00:00:00Z')
const LATEST = Date.parse('9999-12-30T00:00:00Z')

/** ISO 8601 to the microsecond. */
export function timestamp(ms: number): string {
  const whole = Math.floor(ms)
  // Just below a millisecond, the difference is rounded to a whole one.
  const micro = Math.min(999, Math.floor((ms - whole) * 1000))
  return new Date(whole).toISOString().replace('Z', `${String(micro).padStart(3, '0')}Z`)
}

/** A time that an application gives; undefined where it is none that can be recorded. */
export function timeOf(given: Date | number | string | undefined): number | undefined {
  if (given === undefined) return undefined
  const ms = typeof given === 'number' ? given : given instanceof Date ? given.getTime() : Date.parse(given)
  return ms >= EARLIEST && ms <= LATEST ? ms : undefined
}
