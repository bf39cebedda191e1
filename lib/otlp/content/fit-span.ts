/**
 * Cuts the free JSON of a span that exceeds the maximum document size, so that the rest can be stored: usage, cost,
 * status and times always survive, and most strings stay readable. Base64 files are cut first. Next, the longest
 * strings are cut to the greatest common length with which the span fits. If the span consists mostly of many small
 * values, whole values are cut as JSON text, and finally attributes are left out. Each cut string ends with a note, and
 * the attribute `spoor.truncated` lists each cut value's path, full size and SHA-256. Cutting is deterministic, so
 * resends are recognised.
 */
import { LosslessNumber } from 'lossless-json'
import { MAX_DOCUMENT_BYTES, MAX_NAME, type SpanInput } from '../../schema/input.ts'
import { TRUNCATED } from '../../schema/otlp.ts'
import { sha256 } from '../../trace/document.ts'
import { type Json, parseExact, stringifyExact } from '../../trace/json/exact-json.ts'
import type { FreeJson } from '../../trace/json/free-json.ts'
import type { Reading } from '../../trace/json/reader.ts'
import { byteLength, prefixWithin } from '../text.ts'
import { freeObject, freeOf } from '../wire/attribute-values.ts'

/** Bytes reserved for the `spoor.truncated` attribute and for fields that are neither free JSON nor events. */
const RESERVE_BYTES = 64 * 1024
/** Maximum size of an event without its attributes: the time, and a name with up to 6 bytes per character. */
const EVENT_BYTES = 6 * MAX_NAME + 100
/** Maximum number of cuts listed. The largest cuts are listed first. */
const MAX_MARKS = 100
const MAX_PLACE_BYTES = 300
/**
 * Minimum size, in bytes, to which a string is cut. Below this size, the note would take as many bytes as the cut
 * saves.
 */
const LEAST_BYTES = 512
/**
 * Maximum length, in characters, of a string that always fits in LEAST_BYTES. A character takes at most 6 bytes, as in
 * `\u0001`.
 */
const LEAST_LENGTH = Math.floor(LEAST_BYTES / 6)
/** Size, in bytes, to which a base64 file is cut. The remainder shows the file's type. */
const FILE_BYTES = 128
const FILE_LENGTH = 1024
const DATA_URI = /^data:[^,]{0,200};base64,/
/**
 * Matches a character not used in base64. A pattern that matches the whole string would need a stack as deep as the
 * string is long.
 */
const NO_BASE64 = /[^A-Za-z0-9+/_-]/

type Span = Reading<SpanInput>

/** A value that can be cut: input, output, or an attribute of the span or of one of its events. */
type Field = {
  readonly name: string
  readonly place: string
  value: Json
}

/** A string that can be cut: the member `key` of `holder`, which is a field, an object or an array. */
interface Piece {
  readonly place: string
  readonly text: string
  /** Size of the string as JSON in UTF-8, in bytes. */
  readonly bytes: number
  readonly holder: Holder
  readonly key: string
}
type Holder = Record<string, Json>

interface Cut {
  readonly place: string
  readonly bytes: number
  readonly sha256?: string
}

/** Returns the span cut to `mostBytes`, or the span itself if it fits. */
export function fitSpan(span: Span, mostBytes = MAX_DOCUMENT_BYTES): Span {
  const limit = mostBytes - RESERVE_BYTES - EVENT_BYTES * (span.events?.length ?? 0)
  const stored = freeJsonIn(span)
  // A UTF-16 code unit takes at most three bytes in UTF-8, so this check suffices for nearly all spans.
  if (3 * sum(stored, text => text.length) <= limit) return span
  const excess = sum(stored, text => Buffer.byteLength(text)) - limit
  return excess <= 0 ? span : new Fitting(span, excess).fit()
}

function freeJsonIn({ input, output, attributes, events = [] }: Span): string[] {
  const all = [input, output, attributes, ...events.map(event => event.attributes)]
  return all.map(free => free?.stored).filter(text => typeof text === 'string')
}

class Fitting {
  readonly #span: Span
  readonly #input: Field
  readonly #output: Field
  readonly #attributes: Field[]
  readonly #events: Field[][]
  readonly #cuts: Cut[] = []
  /** Number of bytes still to remove. */
  #excess: number

  constructor(span: Span, excess: number) {
    const { input, output, attributes, events = [] } = span
    this.#span = span
    this.#excess = excess
    this.#input = { name: 'input', place: 'input', value: parsed(input) }
    this.#output = { name: 'output', place: 'output', value: parsed(output) }
    this.#attributes = fieldsOf(attributes, 'attributes')
    this.#events = events.map((event, i) => fieldsOf(event.attributes, `events[${i}].attributes`))
  }

  fit(): Span {
    this.#makeWay()
    const fields = [this.#input, this.#output, ...this.#attributes, ...this.#events.flat()]
    const texts = fields.flatMap(field => textsIn(field))
    const files = texts.filter(isFile)
    const others = texts.filter(piece => !isFile(piece))
    for (const file of files.sort(largestFirst)) this.#cut(file, FILE_BYTES)
    if (sum(others, ({ bytes }) => bytes - LEAST_BYTES) >= this.#excess) {
      this.#cutLongest(others)
    } else {
      this.#cutLongest(fields.map(wholeOf).filter(({ bytes }) => bytes > LEAST_BYTES))
      this.#leaveOut()
    }
    return this.#make()
  }

  /** Removes an attribute that the sender named `spoor.truncated`, a reserved name. */
  #makeWay(): void {
    const at = this.#attributes.findIndex(({ name }) => name === TRUNCATED)
    if (at < 0) return
    const { place, text, bytes } = wholeOf(this.#attributes[at] as Field)
    this.#attributes.splice(at, 1)
    this.#excess -= bytes
    this.#cuts.push({ place, bytes, sha256: sha256(text) })
  }

  /**
   * Cuts the longest pieces to the greatest common length with which all pieces fit, but to no less than LEAST_BYTES.
   */
  #cutLongest(pieces: readonly Piece[]): void {
    const sorted = pieces.toSorted(largestFirst)
    let total = 0
    let length = LEAST_BYTES
    for (const [i, { bytes }] of sorted.entries()) {
      total += bytes
      length = Math.floor((total - this.#excess) / (i + 1))
      // The next piece already has at most this length, so no further piece is cut.
      if (length >= (sorted[i + 1]?.bytes ?? 0)) break
    }
    for (const piece of sorted) if (piece.bytes > length) this.#cut(piece, Math.max(length, LEAST_BYTES))
  }

  #cut({ place, text, bytes, holder, key }: Piece, mostBytes: number): void {
    if (this.#excess <= 0) return
    const note = `… [cut: ${bytes} bytes in all]`
    const left = prefixWithin(text, mostBytes - byteLength(note)) + note
    holder[key] = left
    this.#excess -= bytes - byteLength(left)
    this.#cuts.push({ place, bytes, sha256: sha256(text) })
  }

  /** Removes attributes from last to first, event attributes before span attributes, until the rest fits. */
  #leaveOut(): void {
    let [count, bytes] = [0, 0]
    for (const list of [...this.#events.toReversed(), this.#attributes]) {
      for (let field = list.at(-1); field !== undefined && this.#excess > 0; field = list.at(-1)) {
        const size = byteLength(field.name) + Buffer.byteLength(stringifyExact(field.value)) + 1
        list.pop()
        this.#excess -= size
        bytes += size
        count++
      }
    }
    if (count > 0) this.#cuts.push({ place: `${count} attributes, left out`, bytes })
  }

  #make(): Span {
    const { events } = this.#span
    return {
      ...this.#span,
      input: freeOf(this.#input.value),
      output: freeOf(this.#output.value),
      attributes: objectOf([...this.#attributes, this.#mark()]),
      ...(events !== undefined && {
        events: events.map((event, i) => ({ ...event, attributes: objectOf(this.#events[i] as Field[]) }))
      })
    }
  }

  #mark(): Field {
    const sorted = this.#cuts.toSorted(largestFirst)
    const listed = sorted.slice(0, MAX_MARKS).map(cut => ({ ...cut, place: prefixWithin(cut.place, MAX_PLACE_BYTES) }))
    const rest = sorted.slice(MAX_MARKS)
    if (rest.length > 0) listed.push({ place: `${rest.length} more`, bytes: sum(rest, ({ bytes }) => bytes) })
    return { name: TRUNCATED, place: '', value: listed }
  }
}

function isFile({ text }: Piece): boolean {
  const from = DATA_URI.exec(text.slice(0, 300))?.[0].length ?? 0
  return text.length - from >= FILE_LENGTH && !NO_BASE64.test(text.slice(from).replace(/={1,2}$/, ''))
}

const largestFirst = (a: { readonly bytes: number }, b: { readonly bytes: number }): number => b.bytes - a.bytes

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0)

const parsed = (free: FreeJson | undefined): Json => (free?.stored == null ? null : parseExact(free.stored))

function fieldsOf(free: FreeJson | null | undefined, place: string): Field[] {
  const object = (parsed(free ?? undefined) ?? {}) as Record<string, Json>
  return Object.entries(object).map(([name, value]) => ({ name, value, place: `${place}.${name}` }))
}

const objectOf = (fields: readonly Field[]): FreeJson =>
  freeObject(fields.map(({ name, value }) => [name, freeOf(value)]))

/** Returns the field as one piece, either its string value or its JSON text. */
function wholeOf(field: Field): Piece {
  const { place, value } = field
  const text = typeof value === 'string' ? value : stringifyExact(value)
  const bytes = typeof value === 'string' ? byteLength(value) : Buffer.byteLength(text)
  return { place, text, bytes, holder: field, key: 'value' }
}

/** Returns the field's strings that are long enough to be cut. */
function textsIn(field: Field): Piece[] {
  const pieces: Piece[] = []
  collect(field, 'value', field.place, pieces)
  return pieces
}

function collect(holder: Holder, key: string, place: string, into: Piece[]): void {
  const value = holder[key]
  if (typeof value === 'string') {
    if (value.length <= LEAST_LENGTH) return
    const bytes = byteLength(value)
    if (bytes > LEAST_BYTES) into.push({ place, text: value, bytes, holder, key })
  } else if (typeof value === 'object' && value !== null && !(value instanceof LosslessNumber)) {
    for (const inner of Object.keys(value)) {
      collect(value as Holder, inner, Array.isArray(value) ? `${place}[${inner}]` : `${place}.${inner}`, into)
    }
  }
}
