/**
 * Finds the spans in a large JSON export, so that spans can be parsed one at a time. Parsing the whole export at once
 * would take several times as much memory as the JSON text.
 */
import { Refusal } from '../../errors.ts'
import type { ByteRange } from './request.ts'

export interface DividedJson {
  /** The export's JSON, with each list of spans replaced by an array of one number, the list's index in `lists`. */
  readonly frame: Uint8Array
  readonly lists: readonly ByteRanges[]
}

/** Byte ranges of many spans, stored as two numbers each. */
export class ByteRanges {
  readonly #bounds: number[] = []

  static of(ranges: readonly ByteRange[]): ByteRanges {
    const all = new ByteRanges()
    for (const { from, end } of ranges) all.add(from, end)
    return all
  }

  get length(): number {
    return this.#bounds.length / 2
  }

  add(from: number, end: number): void {
    this.#bounds.push(from, end)
  }

  at(index: number): ByteRange {
    return { from: this.#bounds[2 * index] as number, end: this.#bounds[2 * index + 1] as number }
  }
}

/** Path to a list of spans: body.resourceSpans[].scopeSpans[].spans[]. */
const KEYS = [['resourceSpans', 'resource_spans'], ['scopeSpans', 'scope_spans'], ['spans']] as const
/** Depth of a list of spans. The spans are one level deeper. */
export const LIST_DEPTH = 2 * KEYS.length

const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/**
 * Divides the bytes of an export. The export is valid JSON if the frame and every range are valid JSON, which the
 * caller must check. Throws `payload_too_large` if the export has more than `most` values, and `invalid_json` if a
 * string does not end.
 */
export function divideJson(bytes: Uint8Array, most: number): DividedJson {
  const frame: Uint8Array[] = []
  const lists: ByteRanges[] = []
  /**
   * Number of open objects and arrays in total, and number of open objects and arrays on the path to a list of spans.
   */
  let depth = 0
  let path = 0
  /** Most recent string in an object on the path to a list of spans. The string may be the next value's key. */
  let key: ByteRange = { from: 0, end: 0 }
  /** The open list of spans, and the start of the list's next span. */
  let list: ByteRanges | undefined
  let from = 0
  let framed = 0
  let values = 1
  const count = () => {
    if (++values > most) throw new Refusal('payload_too_large', `body: must contain at most ${most} JSON values`)
  }
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at] as number
    if (code === QUOTE) {
      const end = pastString(bytes, at)
      if (depth === path) key = { from: at, end }
      at = end - 1
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (path === depth && path < LIST_DEPTH && leadsToList(bytes, path, code, key)) path++
      depth++
      count()
      if (depth !== LIST_DEPTH || path !== LIST_DEPTH) continue
      list = new ByteRanges()
      from = at + 1
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (list !== undefined && depth === LIST_DEPTH) {
        if (list.length > 0 || !isBlank(bytes, from, at)) list.add(from, at)
        frame.push(bytes.subarray(framed, startOf(list, from)), Buffer.from(String(lists.length)))
        framed = at
        lists.push(list)
        list = undefined
      }
      depth--
      path = Math.min(path, depth)
    } else if (code === COMMA) {
      count()
      if (list === undefined || depth !== LIST_DEPTH) continue
      list.add(from, at)
      from = at + 1
    }
  }
  frame.push(bytes.subarray(framed))
  return { frame: Buffer.concat(frame), lists }
}

/** Returns the start of a list's content, after its bracket. */
const startOf = (list: ByteRanges, from: number): number => (list.length === 0 ? from : list.at(0).from)

/** Returns whether the opening object or array is the next step on the path to a list of spans. */
function leadsToList(bytes: Uint8Array, path: number, code: number, key: ByteRange): boolean {
  if (path % 2 === 0) return code === OPEN_BRACE
  if (code !== OPEN_BRACKET) return false
  const names: readonly (string | undefined)[] = KEYS[(path - 1) / 2] ?? []
  return names.includes(readKey(bytes, key))
}

/** Returns the JSON string in a byte range; undefined if the bytes are not a JSON string. */
function readKey(bytes: Uint8Array, { from, end }: ByteRange): string | undefined {
  try {
    return JSON.parse(Buffer.from(bytes.subarray(from, end)).toString())
  } catch {
    return undefined
  }
}

/** Returns the position just past the string whose opening quote is at `open`. */
function pastString(bytes: Uint8Array, open: number): number {
  for (let at = open + 1; at < bytes.length; at++) {
    const code = bytes[at]
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) at++
  }
  throw new Refusal('invalid_json', 'the body is not valid JSON: it ends within a string')
}

/** Returns whether the bytes are only white space. */
function isBlank(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at++) {
    const code = bytes[at]
    if (code !== 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d) return false
  }
  return true
}
