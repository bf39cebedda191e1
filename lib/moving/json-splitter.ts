/**
 * Splits a byte stream into JSON values without parsing them. The stream holds NDJSON lines, one array's elements, or
 * pretty-printed documents. The beginning of the stream determines the form: an array begins with `[`, and a
 * pretty-printed document has `{` alone on its first line. A line that is not JSON does not affect other lines. In
 * arrays and documents, brackets are counted, so a fault can merge the values that follow into one unreadable value.
 */
export interface SplitValue {
  /** The value's position in words: `line 12`, `element 3`, `document 2`. */
  readonly place: string
  /** The value's bytes, which are not necessarily valid JSON. */
  readonly bytes: Uint8Array
  /** Reason why the value cannot be used; undefined if the value is to be parsed. */
  readonly fault?: string
}

/**
 * Longer values are not kept in memory. The limit allows a trace of the default OTLP_MAX_TRACE_BYTES, and is below
 * JavaScript's maximum string length.
 */
const MAX_VALUE_BYTES = 384 * 1024 * 1024

export async function* splitValues(
  source: AsyncIterable<Uint8Array>,
  maxBytes = MAX_VALUE_BYTES
): AsyncGenerator<SplitValue, void, undefined> {
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
  push(chunk: Uint8Array): Iterable<SplitValue>
  end(): Iterable<SplitValue>
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
/** Whether a byte is white space or part of the UTF-8 byte-order mark. Both are ignored. */
const isBlank = (byte: number): boolean => isSpace(byte) || byte === 0xef || byte === 0xbb || byte === 0xbf

/**
 * Scans the beginning of the stream. Looks at each byte only once, regardless of how many chunks of white space arrive.
 */
class Beginning {
  #isInBrace = false

  /** Chooses the splitter from the beginning of the stream. Returns undefined if more bytes are needed. */
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
 * Collects the parts of one value and copies the value out of them. A view would keep the whole part in memory, and
 * transfer all of it between threads, although the value may be only a hundredth of the part.
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

  /** Returns the complete value and discards its parts. */
  take(place: string, fault?: string): SplitValue {
    const isTooLong = this.#length > this.#maxBytes
    const reason = isTooLong ? `has ${this.#length} bytes, but at most ${this.#maxBytes} are allowed` : fault
    const bytes = isTooLong ? new Uint8Array() : this.#join()
    this.#parts = []
    this.#length = 0
    return { place, bytes, ...(reason !== undefined && { fault: reason }) }
  }

  #join(): Uint8Array {
    const bytes = new Uint8Array(this.#length)
    // Each part is released once it is copied, because a value may be hundreds of megabytes long.
    for (let part = this.#parts.pop(), end = this.#length; part !== undefined; part = this.#parts.pop()) {
      end -= part.byteLength
      bytes.set(part, end)
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

  *push(chunk: Uint8Array): Generator<SplitValue> {
    let start = 0
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#parts.add(chunk.subarray(start, end))
      yield* this.#takeLine()
      start = end + 1
    }
    if (start < chunk.byteLength) this.#parts.add(chunk.subarray(start))
  }

  /** Ends the stream. A last line without a line break may be complete or truncated. */
  *end(): Generator<SplitValue> {
    for (const value of this.#takeLine()) {
      const isWhole = value.fault !== undefined || isJson(value.bytes)
      yield isWhole ? value : { ...value, fault: 'is truncated or not JSON: the file ends within it' }
    }
  }

  /** Takes a line. Blank lines are counted but yield no value. */
  *#takeLine(): Generator<SplitValue> {
    const value = this.#parts.take(`line ${++this.#line}`)
    if (value.fault !== undefined || !value.bytes.every(isBlank)) yield value
  }
}

/** Splits an array's elements, or consecutive documents. */
class NestedSplitter implements Splitter {
  readonly #unit: 'element' | 'document'
  readonly #parts: Parts
  #count = 0
  /** For elements: whether `[` has been read, but not the matching `]`. */
  #isOpen = false
  #isInValue = false
  /** Number of open brackets in the current value. */
  #depth = 0
  #isInString = false
  #isEscaped = false

  constructor(unit: 'element' | 'document', maxBytes: number) {
    this.#unit = unit
    this.#parts = new Parts(maxBytes)
  }

  *push(chunk: Uint8Array): Generator<SplitValue> {
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

  *end(): Generator<SplitValue> {
    const isCut = this.#isInValue || this.#isOpen
    if (isCut && !this.#isInValue) this.#count++
    if (isCut) yield this.#take('is truncated: the file ends within it')
  }

  /** Whether this byte, after a value or at the beginning, starts the next value. */
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

  /** Consumes one byte of a value. Returns 0 if the value ended before this byte, and 1 if it ends with this byte. */
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

  #take(fault?: string): SplitValue {
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
