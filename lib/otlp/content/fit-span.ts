/**
 * Cuts the free JSON of a span that is larger than a document may be, so that the rest of it is stored: usage, cost,
 * status and times count in any case, and most of what was said can be read.
 *
 * Files in base64 go first. Then the longest texts are cut, all to one length, the greatest that fits. If the size lies
 * in many small values, whole values are cut as if their JSON was a text, and at last attributes are left out. Each cut
 * text says so at its end, and the attribute `spoor.truncated` says where it stands, how large it was, and the SHA-256
 * of the whole. The same span is cut in the same way, so that a resend is recognised.
 */
import { LosslessNumber } from 'lossless-json'
import { MAX_DOCUMENT_BYTES, MAX_NAME, type SpanInput } from '../../schema/input.ts'
import { sha256 } from '../../trace/document.ts'
import { type Json, parseExact, stringifyExact } from '../../trace/json/exact-json.ts'
import type { FreeJson } from '../../trace/json/free-json.ts'
import type { Reading } from '../../trace/json/reader.ts'
import { byteLength, prefixWithin } from '../text.ts'
import { freeObject, freeOf } from '../wire/attribute-values.ts'

/** The attribute that says what was cut. */
export const TRUNCATED = 'spoor.truncated'
/** Room for that attribute, and for the fields of a span that are neither free JSON nor events. */
const RESERVE_BYTES = 64 * 1024
/** The bytes of an event without its attributes: its time, and a name whose characters take 6 bytes each. */
const EVENT_BYTES = 6 * MAX_NAME + 100
/** The most cuts that are listed, the largest first. */
const MAX_MARKS = 100
const MAX_PLACE_BYTES = 300
/** A text is never cut below this size: the note about the cut would take as much as the cut saves. */
const LEAST_BYTES = 512
/** A text of this length never takes more than LEAST_BYTES: a character takes at most 6 bytes, as in `\u0001`. */
const LEAST_LENGTH = Math.floor(LEAST_BYTES / 6)
/** A file in base64 is cut to this size, which shows its type. */
const FILE_BYTES = 128
const FILE_LENGTH = 1024
const DATA_URI = /^data:[^,]{0,200};base64,/
/** A character that base64 never has. A pattern for the whole text would need a stack as deep as the text is long. */
const NO_BASE64 = /[^A-Za-z0-9+/_-]/

type Span = Reading<SpanInput>

/** A value that can be cut: input, output, or an attribute of the span or of one of its events. */
interface Field {
  readonly name: string
  readonly place: string
  value: Json
}

/** A text that can be cut, and how to put another one in its place. */
interface Piece {
  readonly place: string
  readonly text: string
  /** As JSON, in UTF-8. */
  readonly bytes: number
  replace(text: string): void
}

interface Cut {
  readonly place: string
  readonly bytes: number
  readonly sha256?: string
}

/** The span cut to `mostBytes`; the span itself if it takes no more. */
export function fitSpan(span: Span, mostBytes = MAX_DOCUMENT_BYTES): Span {
  const limit = mostBytes - RESERVE_BYTES - EVENT_BYTES * (span.events?.length ?? 0)
  const stored = freeJsonIn(span)
  // A UTF-16 unit takes at most three bytes. This is enough to know for nearly all spans.
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
  /** The attributes of each event. */
  readonly #events: Field[][]
  readonly #cuts: Cut[] = []
  /** How many bytes must still go. */
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

  /** Leaves out an attribute of the sender that has the name of ours. */
  #makeWay(): void {
    const at = this.#attributes.findIndex(({ name }) => name === TRUNCATED)
    if (at < 0) return
    const { place, text, bytes } = wholeOf(this.#attributes[at] as Field)
    this.#attributes.splice(at, 1)
    this.#excess -= bytes
    this.#cuts.push({ place, bytes, sha256: sha256(text) })
  }

  /** Cuts the longest of these to one length: the greatest with which they fit, or the least that there is. */
  #cutLongest(pieces: readonly Piece[]): void {
    const sorted = pieces.toSorted(largestFirst)
    let total = 0
    let length = LEAST_BYTES
    for (const [i, { bytes }] of sorted.entries()) {
      total += bytes
      length = Math.floor((total - this.#excess) / (i + 1))
      // The next one is no longer than what the ones up to here are cut to.
      if (length >= (sorted[i + 1]?.bytes ?? 0)) break
    }
    for (const piece of sorted) if (piece.bytes > length) this.#cut(piece, Math.max(length, LEAST_BYTES))
  }

  #cut({ place, text, bytes, replace }: Piece, mostBytes: number): void {
    if (this.#excess <= 0) return
    const note = `… [cut: ${bytes} bytes in all]`
    const left = prefixWithin(text, mostBytes - byteLength(note)) + note
    replace(left)
    this.#excess -= bytes - byteLength(left)
    this.#cuts.push({ place, bytes, sha256: sha256(text) })
  }

  /**
   * Leaves out attributes from the last to the first, those of events before those of the span, until the rest fits.
   */
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

/** The field as one text: the text that it is, or its JSON. */
function wholeOf(field: Field): Piece {
  const { place, value } = field
  const text = typeof value === 'string' ? value : stringifyExact(value)
  const bytes = typeof value === 'string' ? byteLength(value) : Buffer.byteLength(text)
  return {
    place,
    text,
    bytes,
    replace: text => {
      field.value = text
    }
  }
}

/** All texts of a field that are long enough to be cut. */
function textsIn(field: Field): Piece[] {
  const pieces: Piece[] = []
  collect(
    field.value,
    field.place,
    text => {
      field.value = text
    },
    pieces
  )
  return pieces
}

function collect(value: Json, place: string, replace: (text: string) => void, into: Piece[]): void {
  if (typeof value === 'string') {
    if (value.length <= LEAST_LENGTH) return
    const bytes = byteLength(value)
    if (bytes > LEAST_BYTES) into.push({ place, text: value, bytes, replace })
  } else if (Array.isArray(value)) {
    for (const [i, item] of value.entries())
      collect(
        item,
        `${place}[${i}]`,
        text => {
          value[i] = text
        },
        into
      )
  } else if (typeof value === 'object' && value !== null && !(value instanceof LosslessNumber)) {
    const object = value as Record<string, Json>
    for (const [key, item] of Object.entries(object)) {
      collect(
        item,
        `${place}.${key}`,
        text => {
          object[key] = text
        },
        into
      )
    }
  }
}
