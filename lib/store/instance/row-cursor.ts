/** Reads rows in COPY's binary format that come from a file, and may therefore be anything. */

import type { Column } from '../../rows/columns.ts'
import { MAX_NAME, MAX_TAG, MAX_TAGS, MAX_TEXT } from '../../schema/input.ts'
import { FIRST_MS, PAST_LAST_MS, timestampOf } from '../../trace/timestamp.ts'

/** Thrown for a page that no backup can contain. The message completes the sentence "the page …". */
export class PageFault extends Error {
  override readonly name = 'PageFault'
}

/** Maximum number of UTF-8 bytes per character. */
const CHARACTER_BYTES = 4
const LENGTHS = { name: MAX_NAME, provider: MAX_TEXT, model: MAX_TEXT, session_id: MAX_TEXT, user_id: MAX_TEXT }

/** Bytes of a column's values, by type, if all have the same. */
const WIDTH_OF: Readonly<Record<string, number>> = {
  boolean: 1,
  int: 4,
  bigint: 8,
  float8: 8,
  timestamptz: 8,
  uuid: 16
}
const COUNT_BYTES = 2
const LENGTH_BYTES = 4
const TWO_32 = 4_294_967_296
const POSTGRES_EPOCH_MICROS = 946_684_800_000_000

/** Reads rows one after another. */
export class RowCursor {
  readonly bytes: Buffer
  /** Offset of the current row, and the offset at which it ends. After the last row, both are the end of the page. */
  start = 0
  #end = 0
  readonly #columns: readonly Column[]
  readonly #places: ReadonlyMap<string, number>
  /** Bytes of each column's values; -1 if they differ. */
  readonly #widths: readonly number[]
  /** Offset of each value of the current row, and its length; -1 for null. */
  readonly #at: number[] = []
  readonly #lengths: number[] = []

  constructor(bytes: Buffer, columns: readonly Column[]) {
    this.bytes = bytes
    this.#columns = columns
    this.#places = placesOf(columns)
    this.#widths = columns.map(({ type }) => WIDTH_OF[type] ?? -1)
  }

  /** Moves to the next row. Returns false at the end. */
  next(): boolean {
    const { bytes } = this
    const widths = this.#widths
    const ends = bytes.length
    this.start = this.#end
    if (this.start === ends) return false
    let at = this.start + COUNT_BYTES
    if (at > ends || bytes.readInt16BE(this.start) !== widths.length) throw new PageFault('has a malformed row')
    for (let i = 0; i < widths.length; i++) {
      if (at + LENGTH_BYTES > ends) throw new PageFault('ends within a row')
      const length = bytes.readInt32BE(at)
      at += LENGTH_BYTES
      const width = widths[i] as number
      if (length < -1 || (length >= 0 && width >= 0 && width !== length))
        throw new PageFault(`has a malformed ${this.#columns[i]?.name}`)
      this.#at[i] = at
      this.#lengths[i] = length
      if (length > 0) at += length
    }
    if (at > ends) throw new PageFault('ends within a row')
    this.#end = at
    return true
  }

  /** Returns the current row's fields from this column on. */
  from(name: string): Uint8Array {
    return this.bytes.subarray((this.#at[this.#place(name)] as number) - LENGTH_BYTES, this.#end)
  }

  text(name: string): string | null {
    const [at, length] = this.#field(name)
    return length < 0 ? null : this.bytes.toString('utf8', at, at + length)
  }

  /** Returns the bytes of a value. */
  slice(name: string): Buffer | null {
    const [at, length] = this.#field(name)
    return length < 0 ? null : this.bytes.subarray(at, at + length)
  }

  /** Reads a value that must have this many bytes. */
  hex(name: string, count: number): string | null {
    const [at, length] = this.#field(name)
    if (length < 0) return null
    if (length !== count) throw new PageFault(`has a malformed ${name}`)
    return this.bytes.toString('hex', at, at + length)
  }

  /** Reads an integer. */
  number(name: string): number | null {
    const [at, length] = this.#field(name)
    if (length < 0) return null
    if (length === 4) return this.bytes.readInt32BE(at)
    return this.bytes.readInt32BE(at) * TWO_32 + this.bytes.readUInt32BE(at + 4)
  }

  double(name: string): number | null {
    const [at, length] = this.#field(name)
    return length < 0 ? null : this.bytes.readDoubleBE(at)
  }

  time(name: string): string | null {
    const since2000 = this.number(name)
    if (since2000 === null) return null
    const micros = since2000 + POSTGRES_EPOCH_MICROS
    if (!(micros >= FIRST_MS * 1000 && micros < PAST_LAST_MS * 1000)) throw new PageFault(`has an invalid ${name}`)
    if (micros >= 0 && Number.isSafeInteger(since2000)) return timestampOf(micros)
    const exact = this.bytes.readBigInt64BE(this.#field(name)[0]) + BigInt(POSTGRES_EPOCH_MICROS)
    const rest = Number(((exact % 1000n) + 1000n) % 1000n)
    const iso = new Date(Number((exact - BigInt(rest)) / 1000n)).toISOString()
    return rest === 0 ? iso : `${iso.slice(0, -1)}${String(rest).padStart(3, '0')}Z`
  }

  /** Reads the column `tags`: one dimension without nulls, or null for none. */
  tags(): string[] {
    const [from, length] = this.#field('tags')
    if (length < 0) return []
    const { bytes } = this
    const end = from + length
    const tags: string[] = []
    const wrong = () => new PageFault('has malformed tags')
    if (length < ARRAY_HEAD_BYTES || bytes.readInt32BE(from) !== 1) throw wrong()
    let at = from + ARRAY_HEAD_BYTES
    for (let i = bytes.readInt32BE(from + 12); i > 0; i--) {
      if (at + LENGTH_BYTES > end) throw wrong()
      const size = bytes.readInt32BE(at)
      at += LENGTH_BYTES + size
      if (size < 1 || size > CHARACTER_BYTES * MAX_TAG || at > end || tags.length === MAX_TAGS) throw wrong()
      tags.push(bytes.toString('utf8', at - size, at))
    }
    if (at !== end) throw wrong()
    return tags
  }

  checkLengths(names: readonly (keyof typeof LENGTHS)[]): void {
    for (const name of names) {
      if (this.#field(name)[1] > CHARACTER_BYTES * LENGTHS[name]) throw new PageFault(`has a ${name} that is too long`)
    }
  }

  /** Returns the raw fields of the current row, without those of `except`, for comparisons. */
  others(except: ReadonlySet<string>): string {
    return this.#columns
      .map(({ name }, i) => {
        const length = this.#lengths[i] as number
        const at = this.#at[i] as number
        return except.has(name) ? '' : `${length}:${length > 0 ? this.bytes.toString('latin1', at, at + length) : ''}`
      })
      .join()
  }

  #field(name: string): readonly [at: number, length: number] {
    const place = this.#place(name)
    return [this.#at[place] as number, this.#lengths[place] as number]
  }

  #place(name: string): number {
    return this.#places.get(name) as number
  }
}

/** Bytes of an array in front of its elements: dimensions, nulls, element type, element count and lower bound. */
const ARRAY_HEAD_BYTES = 20

const known = new WeakMap<readonly Column[], ReadonlyMap<string, number>>()

function placesOf(columns: readonly Column[]): ReadonlyMap<string, number> {
  const places = known.get(columns) ?? new Map(columns.map(({ name }, i) => [name, i]))
  known.set(columns, places)
  return places
}
