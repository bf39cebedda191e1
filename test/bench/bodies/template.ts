/**
 * Byte strings that are built once and sent many times. A template has placeholders of fixed width, which are
 * overwritten before each use, so that every trace is unique at almost no cost. Request bodies and rows for COPY
 * contain the same placeholders.
 */

/** The trace's id: 32 random hexadecimal digits, as clients create it. */
export const TRACE_ID_PLACE = 'f'.repeat(32)
/** The trace's id in bytes, as in protobuf. */
const TRACE_BYTES_PLACE = Buffer.from(TRACE_ID_PLACE, 'hex')
/** A session's id, the same in SESSION_LENGTH consecutive traces. */
export const SESSION_PLACE = 'fedcba9876543210'
/** A time down to the minute. Seconds and fractions keep the template's value. */
export const MINUTE_PLACE = '1999-12-31T23:59'
/** The end of a trace, in the minute's last second. The milliseconds are random. */
export const END_PLACE = `${MINUTE_PLACE}:59.987`
/** The cost. Its last digits are random. */
export const COST_PLACE = '0.0987654321'
/** The column traces.seq in rows for COPY. */
export const NUMBER_PLACE = '987654321098765'
/** The column traces.duration_ms in rows for COPY, for a trace that starts at the full minute. */
export const DURATION_PLACE = '876543210987654'

const SESSION_LENGTH = 8
/** The times of traces advance with the traces' numbers, so that indexes on time grow at their right-hand edge. */
const TRACES_PER_MINUTE = 16
const FIRST_MINUTE = Date.UTC(2026, 0, 1) / 60_000

export interface Template {
  readonly bytes: Buffer
  readonly traceIds: readonly number[]
  readonly traceBytes: readonly number[]
  readonly sessions: readonly number[]
  readonly minutes: readonly number[]
  readonly ends: readonly number[]
  readonly costs: readonly number[]
  readonly numbers: readonly number[]
  readonly durations: readonly number[]
}

/** Finds the placeholders in `bytes`. */
export function createTemplate(bytes: Buffer): Template {
  return {
    bytes,
    traceIds: placesOf(bytes, TRACE_ID_PLACE),
    traceBytes: placesOf(bytes, TRACE_BYTES_PLACE),
    sessions: placesOf(bytes, SESSION_PLACE),
    minutes: placesOf(bytes, MINUTE_PLACE),
    ends: placesOf(bytes, END_PLACE, END_DIGITS),
    costs: placesOf(bytes, COST_PLACE, COST_DIGITS),
    numbers: placesOf(bytes, NUMBER_PLACE),
    durations: placesOf(bytes, DURATION_PLACE)
  }
}

/** Finds each placeholder and returns the positions of its last `digits` characters. */
function placesOf(bytes: Buffer, placeholder: string | Buffer, digits = placeholder.length): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(placeholder); at >= 0; at = bytes.indexOf(placeholder, at + placeholder.length))
    places.push(at + placeholder.length - digits)
  return places
}

/** Returns the trace id that was last written into a template, in hexadecimal. */
export function readTraceId({ bytes, traceIds: [text], traceBytes: [binary] }: Template): string {
  if (text !== undefined) return bytes.toString('latin1', text, text + TRACE_ID_PLACE.length)
  return bytes.toString('hex', binary, binary! + TRACE_BYTES_PLACE.length)
}

/**
 * Generates the identities of traces one after another: `next` advances to a new trace, and `stamp` writes its identity
 * into a template.
 */
export interface Identities {
  next(): void
  stamp(template: Template): void
}

const END_DIGITS = 3
const COST_DIGITS = 9
const LAST_SECOND_MS = 59_000

const HEX_DIGITS = Buffer.from('0123456789abcdef')

/** Creates identities with random ids, ends and costs, and with numbers from `firstNumber` on. */
export function createIdentities(firstNumber: number): Identities {
  const traceId = Buffer.alloc(TRACE_ID_PLACE.length)
  const traceBytes = Buffer.alloc(TRACE_BYTES_PLACE.length)
  const session = Buffer.alloc(SESSION_PLACE.length)
  const minute = Buffer.alloc(MINUTE_PLACE.length)
  const number = Buffer.alloc(NUMBER_PLACE.length)
  const end = Buffer.alloc(END_DIGITS)
  const cost = Buffer.alloc(COST_DIGITS)
  const duration = Buffer.alloc(DURATION_PLACE.length)
  let next = firstNumber
  let currentMinute = 0

  const writeHex = (target: Buffer) => {
    for (let at = 0; at < target.length; at += 8) {
      let bits = Math.random() * 0x1_0000_0000
      for (let i = 0; i < 8; i++, bits /= 16) target[at + i] = HEX_DIGITS[bits & 15]!
    }
  }
  const writeNumber = (target: Buffer, number: number) => {
    target.write(String(number).padStart(target.length, '0'), 0, 'latin1')
  }
  return {
    next() {
      writeHex(traceId)
      traceBytes.write(traceId.toString('latin1'), 'hex')
      const ms = Math.floor(Math.random() * 1_000)
      writeNumber(end, ms)
      writeNumber(duration, LAST_SECOND_MS + ms)
      writeNumber(cost, Math.floor(Math.random() * 10 ** COST_DIGITS))
      if ((next - firstNumber) % SESSION_LENGTH === 0) writeHex(session)
      const thisMinute = FIRST_MINUTE + Math.floor(next / TRACES_PER_MINUTE)
      if (thisMinute !== currentMinute) {
        currentMinute = thisMinute
        minute.write(new Date(currentMinute * 60_000).toISOString(), 0, 'latin1')
      }
      writeNumber(number, next)
      next += 1
    },
    stamp({ bytes, traceIds, traceBytes: places, sessions, minutes, ends, costs, numbers, durations }) {
      overwrite(bytes, traceIds, traceId)
      overwrite(bytes, places, traceBytes)
      overwrite(bytes, sessions, session)
      overwrite(bytes, minutes, minute)
      overwrite(bytes, ends, end)
      overwrite(bytes, costs, cost)
      overwrite(bytes, numbers, number)
      overwrite(bytes, durations, duration)
    }
  }
}

/** A loop takes half the time of Buffer.copy for so few bytes. */
function overwrite(bytes: Buffer, places: readonly number[], value: Buffer): void {
  for (const place of places) {
    for (let i = 0; i < value.length; i++) bytes[place + i] = value[i]!
  }
}
