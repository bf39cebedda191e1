/**
 * JSON values out of a stream of bytes, one at a time and none of them parsed: the lines of NDJSON, the elements of one
 * array, or documents laid out over several lines, one after the other. Which of the three it is, the beginning tells: an
 * array begins with `[`, a document that a program laid out has `{` alone on its first line.
 *
 * A line that is no JSON spoils nothing but itself. Of arrays and documents the brackets are counted, so that there a
 * fault may swallow what follows it; it is one value then, which nobody can read.
 */
export interface Value {
  /** Where it is, for people: `line 12`, `element 3`, `document 2`. */
  readonly place: string
  /** Its text, which may or may not be JSON. */
  readonly bytes: Uint8Array
  /** Why there is no use in reading it. */
  readonly fault?: string
}

/** More than the line of a trace with 200 spans of the largest size has; what is longer is not kept in memory. */
const MAX_VALUE_BYTES = 192 * 1024 * 1024

export async function* splitValues(
  source: AsyncIterable<Uint8Array>,
  maxBytes = MAX_VALUE_BYTES
): AsyncGenerator<Value, void, undefined> {
  let splitter: Splitter | undefined
  const beginning = new Beginning()
  const held: Uint8Array[] = []
  for await (const chunk of source) {
    if (splitter === undefined) {
      held.push(chunk)
      splitter = beginning.chooseSplitter(chunk, maxBytes)
      if (splitter === undefined) continue
      for (const part of held) yield* splitter.push(part)
    } else yield* splitter.push(chunk)
  }
  if (splitter === undefined) {
    splitter = new LineSplitter(maxBytes)
    for (const part of held) yield* splitter.push(part)
  }
  yield* splitter.end()
}

interface Splitter {
  push(chunk: Uint8Array): Iterable<Value>
  end(): Iterable<Value>
}

const LF = 10
const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
const isSpace = (byte: number): boolean => byte === 32 || (byte >= 9 && byte <= 13)
/** The byte-order mark of UTF-8 is passed over like space. */
const isBlank = (byte: number): boolean => isSpace(byte) || byte === 0xef || byte === 0xbb || byte === 0xbf

/** Looks at each byte of the beginning once, however many chunks of white space it comes in. */
class Beginning {
  #isInBrace = false

  /** Undefined where more must come to tell. */
  chooseSplitter(chunk: Uint8Array, maxBytes: number): Splitter | undefined {
    for (const byte of chunk) {
      if (this.#isInBrace) {
        if (byte === LF) return new NestedSplitter('document', maxBytes)
        if (!isSpace(byte)) return new LineSplitter(maxBytes)
      } else if (byte === OPEN_BRACKET) {
        return new NestedSplitter('element', maxBytes)
      } else if (byte === OPEN_BRACE) {
        this.#isInBrace = true
      } else if (!isBlank(byte)) {
        return new LineSplitter(maxBytes)
      }
    }
    return undefined
  }
}

/**
 * The parts of one value, as they come. It is copied out of them: a view of a part would keep the whole of it in memory,
 * and take it along to another thread, a hundred times what the value itself may have.
 */
class Parts {
  readonly #maxBytes: number
  #parts: Uint8Array[] = []
  #length = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(part: Uint8Array): void {
    this.#length += part.byteLength
    if (this.#length > this.#maxBytes) this.#parts = []
    else this.#parts.push(part)
  }

  /** The whole value; the parts are gone then. */
  take(place: string, fault?: string): Value {
    const isTooLong = this.#length > this.#maxBytes
    const reason = isTooLong ? `has ${this.#length} bytes, and at most ${this.#maxBytes} are read` : fault
    const bytes = isTooLong ? new Uint8Array() : this.#join()
    this.#parts = []
    this.#length = 0
    return { place, bytes, ...(reason !== undefined && { fault: reason }) }
  }

  #join(): Uint8Array {
    const bytes = new Uint8Array(this.#length)
    let at = 0
    for (const part of this.#parts) {
      bytes.set(part, at)
      at += part.byteLength
    }
    return bytes
  }
}

class LineSplitter implements Splitter {
  readonly #parts: Parts
  #line = 0

  constructor(maxBytes: number) {
    this.#parts = new Parts(maxBytes)
  }

  *push(chunk: Uint8Array): Generator<Value> {
    let start = 0
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#parts.add(chunk.subarray(start, end))
      yield* this.#takeLine()
      start = end + 1
    }
    if (start < chunk.byteLength) this.#parts.add(chunk.subarray(start))
  }

  /** A last line without a line break may be whole, or what is left of one. */
  *end(): Generator<Value> {
    for (const value of this.#takeLine()) {
      const isWhole = value.fault !== undefined || isJson(value.bytes)
      yield isWhole ? value : { ...value, fault: 'is cut off, or no JSON: the file ends within it' }
    }
  }

  /** Blank lines count, and are passed over. */
  *#takeLine(): Generator<Value> {
    const value = this.#parts.take(`line ${++this.#line}`)
    if (value.fault !== undefined || !value.bytes.every(isBlank)) yield value
  }
}

/** The elements of an array, or documents one after the other. */
class NestedSplitter implements Splitter {
  readonly #unit: 'element' | 'document'
  readonly #parts: Parts
  #count = 0
  /** Between `[` and `]`, for elements. */
  #isOpen = false
  #isInValue = false
  /** Brackets open in the value under way. */
  #depth = 0
  #isInString = false
  #isEscaped = false

  constructor(unit: 'element' | 'document', maxBytes: number) {
    this.#unit = unit
    this.#parts = new Parts(maxBytes)
  }

  *push(chunk: Uint8Array): Generator<Value> {
    let start = 0
    for (let at = 0; at < chunk.byteLength; at++) {
      const byte = chunk[at]!
      if (!this.#isInValue) {
        if (!this.#begins(byte)) continue
        this.#isInValue = true
        this.#count++
        start = at
      }
      const end = this.#step(byte)
      if (end === undefined) continue
      this.#parts.add(chunk.subarray(start, at + end))
      yield this.#take()
    }
    if (this.#isInValue) this.#parts.add(chunk.subarray(start))
  }

  *end(): Generator<Value> {
    const isCut = this.#isInValue || this.#isOpen
    if (isCut && !this.#isInValue) this.#count++
    if (isCut) yield this.#take('is cut off: the file ends within it')
  }

  /** Whether a value begins with this byte, which stands between values. */
  #begins(byte: number): boolean {
    if (isBlank(byte)) return false
    if (this.#unit === 'document') return true
    if (!this.#isOpen && this.#count === 0 && byte === OPEN_BRACKET) {
      this.#isOpen = true
      return false
    }
    if (this.#isOpen && byte === CLOSE_BRACKET) this.#isOpen = false
    else return byte !== COMMA || !this.#isOpen
    return false
  }

  /** Takes one byte of a value: 0 where the value has ended before it, 1 where it ends with it. */
  #step(byte: number): 0 | 1 | undefined {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) this.#isInString = false
      return undefined
    }
    if (byte === QUOTE) {
      this.#isInString = true
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#depth++
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (this.#depth === 0) {
        this.#isOpen = false
        return 0
      }
      this.#depth--
      if (this.#depth === 0 && this.#unit === 'document') return 1
    } else if (this.#depth === 0 && byte === (this.#unit === 'element' ? COMMA : LF)) {
      return 0
    }
    return undefined
  }

  #take(fault?: string): Value {
    this.#isInValue = false
    this.#depth = 0
    this.#isInString = false
    return this.#parts.take(`${this.#unit} ${this.#count}`, fault)
  }
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(
      Buffer.from(bytes)
        .toString('utf8')
        .replace(/^\ufeff/, '')
    )
    return true
  } catch {
    return false
  }
}
