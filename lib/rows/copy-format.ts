/**
 * Writes rows in COPY's binary format
 * (https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS-BINARY). A row is a field count followed
 * by fields, each with a length prefix. Numbers are big-endian. Timestamps are microseconds since 2000.
 */

import { epochMs, microsOf } from '../trace/timestamp.ts'
import type { Column, PowerOfTen, Value } from './columns.ts'
import type { ListNumber } from './list-numbers.ts'
import { type Allocate, threadBytes } from './thread-bytes.ts'

const FIRST_BYTES = 65_536
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const UNIT_BYTES = 3
/**
 * Maximum length, in code units, of strings that are written in a loop. For short strings, a loop is faster than
 * Buffer's own method.
 */
const SHORT_TEXT = 64
const NULL_LENGTH = -1
const TWO_32 = 4_294_967_296
/** PostgreSQL's epoch, 2000-01-01T00:00:00Z. */
const POSTGRES_EPOCH_MS = 946_684_800_000
/** OID of type text, which an array declares as its element type. */
const TEXT_OID = 25

/** PostgreSQL stores numerics as base-10,000 digits. */
const NUMERIC_BASE = 10_000
const NUMERIC_POWER = 4
const NUMERIC_SIGN = { plus: 0, minus: 0x4000 } as const

/** Writes one field with its length prefix. The value must not be null. */
type WriteField = (rows: CopyWriter, value: never) => void

/** Values of hexadecimal digits, indexed by character code. */
const NIBBLES = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16))

/**
 * A buffer of consecutive rows. Numbers, digits and short strings are written byte by byte, which is faster than
 * calling Buffer's methods.
 */
export class CopyWriter {
  bytes = Buffer.allocUnsafe(FIRST_BYTES)
  length = 0
  #areByteTexts = false

  /**
   * Discards all bytes, including partial data left by an error. `areByteTexts` says whether JSON to write is byte
   * texts (lib/trace/json/byte-text.ts).
   */
  reset(areByteTexts = false): void {
    this.length = 0
    this.#areByteTexts = areByteTexts
  }

  /** Ensures capacity for `count` more bytes. */
  makeRoom(count: number): void {
    if (this.length + count <= this.bytes.length) return
    const larger = Buffer.allocUnsafe((this.length + count) * 2)
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  byte(value: number): void {
    this.makeRoom(1)
    this.bytes[this.length++] = value
  }

  append(bytes: Uint8Array): void {
    this.makeRoom(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  int16(value: number): void {
    this.makeRoom(2)
    this.bytes[this.length++] = value >> 8
    this.bytes[this.length++] = value
  }

  int32(value: number): void {
    this.makeRoom(4)
    this.putInt32(value, this.length)
    this.length += 4
  }

  int64(value: number): void {
    this.makeRoom(8)
    this.putInt64(value, this.length)
    this.length += 8
  }

  float64(value: number): void {
    this.makeRoom(8)
    this.length = this.bytes.writeDoubleBE(value, this.length)
  }

  /** Writes a string as a field: its length in bytes, then UTF-8. */
  text(text: string): void {
    // Reads `length` only once, because V8 has many kinds of strings and a length look-up costs as much as writing ten
    // bytes.
    const units = text.length
    this.makeRoom(4 + units * UNIT_BYTES)
    const from = this.length + 4
    const end = this.#putAscii(text, units, from) ? from + units : from + this.bytes.write(text, from)
    this.putInt32(end - from, this.length)
    this.length = end
  }

  /** Writes JSON as a field. */
  json(json: string): void {
    if (!this.#areByteTexts) {
      this.text(json)
      return
    }
    const count = json.length
    this.makeRoom(4 + count)
    this.putInt32(count, this.length)
    this.length += 4
    if (count <= SHORT_TEXT) for (let i = 0; i < count; i++) this.bytes[this.length + i] = json.charCodeAt(i)
    else this.bytes.write(json, this.length, 'latin1')
    this.length += count
  }

  /** Writes hexadecimal digits as a binary field with a length prefix. */
  hex(digits: string): void {
    const count = digits.length / 2
    this.int32(count)
    this.makeRoom(count)
    const { bytes, length } = this
    for (let i = 0; i < count; i++) {
      const high = NIBBLES[digits.charCodeAt(2 * i)] as number
      bytes[length + i] = (high << 4) | (NIBBLES[digits.charCodeAt(2 * i + 1)] as number)
    }
    this.length += count
  }

  putInt16(value: number, at: number): void {
    this.bytes[at] = value >> 8
    this.bytes[at + 1] = value
  }

  putInt32(value: number, at: number): void {
    const { bytes } = this
    bytes[at] = value >> 24
    bytes[at + 1] = value >> 16
    bytes[at + 2] = value >> 8
    bytes[at + 3] = value
  }

  /** Writes a 64-bit integer. Accepts integers from -2^53 to 2^53. */
  putInt64(value: number, at: number): void {
    const high = Math.floor(value / TWO_32)
    this.putInt32(high, at)
    this.putInt32(value - high * TWO_32, at + 4)
  }

  take(allocate: Allocate = threadBytes): Uint8Array {
    const taken = allocate(this.length)
    taken.set(this.bytes.subarray(0, this.length))
    return taken
  }

  /**
   * Writes a short ASCII string. Returns false for other strings; the caller must then discard the bytes written so
   * far.
   */
  #putAscii(text: string, units: number, at: number): boolean {
    if (units > SHORT_TEXT) return false
    const { bytes } = this
    for (let i = 0; i < units; i++) {
      const code = text.charCodeAt(i)
      if (code > 127) return false
      bytes[at + i] = code
    }
    return true
  }
}

const FIELDS: Readonly<Record<string, WriteField>> = {
  boolean(rows, value: boolean) {
    rows.int32(1)
    rows.byte(value ? 1 : 0)
  },
  smallint(rows, value: number) {
    rows.int32(2)
    rows.int16(value)
  },
  int(rows, value: number) {
    rows.int32(4)
    rows.int32(value)
  },
  bigint(rows, value: number | ListNumber) {
    rows.int32(8)
    if (typeof value === 'number') {
      rows.int64(value)
    } else {
      rows.int32(value.high)
      rows.int32(value.low)
    }
  },
  float8(rows, value: number) {
    rows.int32(8)
    rows.float64(value)
  },
  timestamptz(rows, value: string) {
    rows.int32(8)
    const ms = epochMs(value) - POSTGRES_EPOCH_MS
    const micros = microsOf(value)
    if (Number.isSafeInteger(ms * 1000)) {
      rows.int64(ms * 1000 + micros)
    } else {
      rows.makeRoom(8)
      rows.length = rows.bytes.writeBigInt64BE(BigInt(ms) * 1000n + BigInt(micros), rows.length)
    }
  },
  numeric(rows, value: number | PowerOfTen) {
    if (typeof value === 'number') return writeWhole(rows, value)
    beginNumeric(rows, value.isNegative, value.exponent / NUMERIC_POWER, 1)
    rows.int16(1)
  },
  uuid: (rows, value: string) => rows.hex(value),
  bytea(rows, value: string | Uint8Array) {
    if (typeof value === 'string') {
      rows.hex(value)
    } else {
      rows.int32(value.length)
      rows.append(value)
    }
  },
  text: (rows, value: string) => rows.text(value),
  json: (rows, value: string) => rows.json(value),
  'text[]'(rows, value: readonly string[]) {
    const start = rows.length
    // Length (filled in below), one dimension, no nulls, element type, element count, lower bound 1.
    for (const number of [0, 1, 0, TEXT_OID, value.length, 1]) rows.int32(number)
    for (const text of value) rows.text(text)
    rows.putInt32(rows.length - start - 4, start)
  }
}

/** Writes an integer that a double represents exactly. */
function writeWhole(rows: CopyWriter, value: number): void {
  let rest = Math.abs(value)
  let weight = 0
  let place = 1
  for (; rest >= place * NUMERIC_BASE; place *= NUMERIC_BASE) weight++
  beginNumeric(rows, value < 0, weight, rest === 0 ? 0 : weight + 1)
  if (rest === 0) return
  for (; weight >= 0; weight--, place /= NUMERIC_BASE) {
    const digit = Math.floor(rest / place)
    rest -= digit * place
    rows.int16(digit)
  }
}

/**
 * Writes a numeric's header. `weight` is the first digit's power of NUMERIC_BASE. The caller writes the digits.
 * Fractions are not supported.
 */
function beginNumeric(rows: CopyWriter, isNegative: boolean, weight: number, digits: number): void {
  rows.int32(8 + 2 * digits)
  rows.int16(digits)
  rows.int16(weight)
  rows.int16(isNegative ? NUMERIC_SIGN.minus : NUMERIC_SIGN.plus)
  rows.int16(0)
}

/** Returns a function that writes an item's fields in column order. */
export function fieldWriter<T, N extends string>(
  columns: readonly (Column & { readonly name: N })[],
  values: Readonly<Record<N, (item: T) => Value>>
): (rows: CopyWriter, item: T) => void {
  const fields = columns.map(({ name, type }) => ({ value: values[name], write: fieldOf(type) }))
  return (rows, item) => {
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i] as (typeof fields)[number]
      const value = field.value(item)
      if (value === null) rows.int32(NULL_LENGTH)
      else field.write(rows, value as never)
    }
  }
}

/** Reads the field at this offset. Returns its bytes (undefined for null) and its end offset. */
export function readField(bytes: Buffer, at: number): { readonly bytes: Buffer | undefined; readonly end: number } {
  const length = bytes.readInt32BE(at)
  const from = at + 4
  if (length === NULL_LENGTH) return { bytes: undefined, end: from }
  return { bytes: bytes.subarray(from, from + length), end: from + length }
}

/** Returns the offset after `count` fields. */
export function skipFields(bytes: Buffer, at: number, count: number): number {
  let end = at
  for (let i = 0; i < count; i++) end += 4 + Math.max(0, bytes.readInt32BE(end))
  return end
}

function fieldOf(type: string): WriteField {
  const write = FIELDS[type]
  if (write === undefined) throw new Error(`no binary form for ${type}`)
  return write
}
