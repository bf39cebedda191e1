/**
 * Parses timestamps and converts them to canonical form, in which they are stored, compared and returned: UTC with `Z`
 * and three fraction digits, or six if the microseconds are not zero (`2026-11-21T12:00:00.123Z`).
 */

const DASH = 45
const ZERO = 48
const COLON = 58

/** Parses `count` digits at `at`. Returns -1 if any character is not a digit. */
function digits(text: string, at: number, count: number): number {
  let value = 0
  for (let i = at; i < at + count; i++) {
    const digit = text.charCodeAt(i) - ZERO
    // Past the end, charCodeAt returns NaN, for which this comparison also fails.
    if (!(digit >= 0 && digit <= 9)) return -1
    value = value * 10 + digit
  }
  return value
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Returns the days since 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant's days_from_civil). */
function daysFromEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

/**
 * Parses the time zone at `at` and returns minutes east of UTC. A missing zone means UTC. Returns undefined if the zone
 * is invalid.
 */
function offsetMinutes(text: string, at: number): number | undefined {
  if (at === text.length) return 0
  const sign = text.charAt(at)
  if (sign === 'Z' || sign === 'z') return at + 1 === text.length ? 0 : undefined
  if (sign !== '+' && sign !== '-') return undefined
  const hours = digits(text, at + 1, 2)
  const rest = text.length - at - 3
  const minutes =
    rest === 0
      ? 0
      : rest === 2
        ? digits(text, at + 3, 2)
        : rest === 3 && text[at + 3] === ':'
          ? digits(text, at + 4, 2)
          : -1
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return undefined
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes)
}

const MINUTE_MS = 60_000
/** Value of a fraction's last digit, in microseconds, indexed by the fraction's number of digits. */
const DIGIT_MICROS = [1_000_000, 100_000, 10_000, 1000, 100, 10, 1]
/** The times 0001-01-01T00:00:00Z and 10000-01-01T00:00:00Z, in ms since 1970. */
export const FIRST_MS = -62_135_596_800_000
export const PAST_LAST_MS = 253_402_300_800_000

/**
 * Returns the canonical form of an ISO 8601 date and time, or undefined if the string is not valid. `T` or a space
 * separates date and time. Seconds are required. A fraction of 1 to 9 digits is truncated to microseconds. The zone is
 * `Z`, an offset or absent (UTC).
 */
export function parseTimestamp(text: string): string | undefined {
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 2)
  const day = digits(text, 8, 2)
  const hour = digits(text, 11, 2)
  const minute = digits(text, 14, 2)
  const second = digits(text, 17, 2)
  if (year < 0 || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23) return undefined
  if (minute < 0 || minute > 59 || second < 0 || second > 59 || day > daysInMonth(year, month)) return undefined
  if (text.charCodeAt(4) !== DASH || text.charCodeAt(7) !== DASH) return undefined
  if (text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON) return undefined
  const separator = text[10]
  if (separator !== 'T' && separator !== 't' && separator !== ' ') return undefined

  let at = 19
  let micros = 0
  if (text[at] === '.') {
    const from = at + 1
    at = from
    while (text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= ZERO + 9) at++
    const count = at - from
    if (count < 1 || count > 9) return undefined
    micros = count >= 6 ? digits(text, from, 6) : digits(text, from, count) * (DIGIT_MICROS[count] as number)
  }
  const offset = offsetMinutes(text, at)
  if (offset === undefined) return undefined
  // Fast path: most clients send this form, which is already canonical.
  if (offset === 0 && year > 0 && at === 23 && separator === 'T' && text[23] === 'Z') return text

  const ms =
    daysFromEpoch(year, month, day) * 86_400_000 +
    (hour * 60 + minute - offset) * MINUTE_MS +
    second * 1000 +
    Math.floor(micros / 1000)
  if (ms < FIRST_MS || ms >= PAST_LAST_MS) return undefined
  const iso = new Date(ms).toISOString()
  const rest = micros % 1000
  return rest === 0 ? iso : `${iso.slice(0, 23)}${String(rest).padStart(3, '0')}Z`
}

/** Returns a canonical timestamp's microseconds past the millisecond. */
export const microsOf = (canonical: string): number => (canonical.length === 27 ? digits(canonical, 23, 3) : 0)

/** Returns a canonical timestamp as milliseconds since 1970, without its microseconds. */
export function epochMs(canonical: string): number {
  const days = daysFromEpoch(digits(canonical, 0, 4), digits(canonical, 5, 2), digits(canonical, 8, 2))
  const minutes = days * 1440 + digits(canonical, 11, 2) * 60 + digits(canonical, 14, 2)
  return minutes * MINUTE_MS + digits(canonical, 17, 2) * 1000 + digits(canonical, 20, 3)
}

/** Whether `first` is earlier than `second`. Both timestamps must be canonical. */
export function isBefore(first: string, second: string): boolean {
  // Timestamps of equal length sort chronologically as strings.
  if (first.length === second.length) return first < second
  const a = epochMs(first)
  const b = epochMs(second)
  return a < b || (a === b && microsOf(first) < microsOf(second))
}

/** Returns the milliseconds between two canonical timestamps. Includes microseconds and rounds half up. */
export function durationMs(from: string, to: string): number {
  const micros = microsOf(to) - microsOf(from)
  return epochMs(to) - epochMs(from) + (micros >= 500 ? 1 : micros < -500 ? -1 : 0)
}

const Z = 90
/** Characters of the previous timestamp, reused because the next timestamp usually falls in the same minute. */
const written = Buffer.from('1970-01-01T00:00:00.000000Z')
let writtenMinute = 0

/** Formats microseconds since 1970 as a canonical timestamp. Formatting with Date takes seven times as long. */
export function timestampOf(micros: number): string {
  const rest = micros % 1000
  const ms = (micros - rest) / 1000
  const inMinute = ms % MINUTE_MS
  if (ms - inMinute !== writtenMinute) {
    writtenMinute = ms - inMinute
    written.write(new Date(writtenMinute).toISOString().slice(0, 17), 'latin1')
  }
  const millis = inMinute % 1000
  const seconds = (inMinute - millis) / 1000
  written[17] = ZERO + Math.floor(seconds / 10)
  written[18] = ZERO + (seconds % 10)
  putThree(millis, 20)
  if (rest > 0) putThree(rest, 23)
  const end = rest > 0 ? 26 : 23
  written[end] = Z
  return written.toString('latin1', 0, end + 1)
}

function putThree(value: number, at: number): void {
  written[at] = ZERO + Math.floor(value / 100)
  written[at + 1] = ZERO + (Math.floor(value / 10) % 10)
  written[at + 2] = ZERO + (value % 10)
}
