/**
 * Reads protobuf spans in the form that nearly all senders use, without allocating a message object per attribute and
 * value. protobufjs decodes spans with rare or invalid fields (lib/otlp/wire/protobuf.ts) and reports errors. A test
 * compares the two decoders.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import type { Json } from '../../trace/json/exact-json.ts'
import { setOwn } from '../../trace/metadata.ts'
import { MOST_EVENTS } from './parts.ts'
import type { ByteRange, OtlpEvent, OtlpLink, OtlpSpan } from './request.ts'
import { integerOf, microsOfInt64 } from './time.ts'
import { WordCache } from './word-cache.ts'

/** Thrown if a span is not plain. The error is shared because creating an error costs more than reading a span. */
const NOT_PLAIN = new Error('not a plain span')
/** Maximum depth of a plain value. */
const MAX_DEPTH = 16
/** Maximum length of a cached string, in bytes. Longer strings are rarely repeated. */
const MAX_WORD = 40
const NO_EVENTS: readonly OtlpEvent[] = []
const NO_LINKS: readonly OtlpLink[] = []

/** Tags of fields: 8 times the field's number, plus 0 for a varint, 1 for 64 bits, 2 for a length or 5 for 32 bits. */
const SPAN = {
  ...{
    traceId: 0x0a,
    spanId: 0x12,
    traceState: 0x1a,
    parentSpanId: 0x22,
    name: 0x2a,
    kind: 0x30,
    start: 0x39,
    end: 0x41
  },
  ...{ attribute: 0x4a, droppedAttributes: 0x50, event: 0x5a, droppedEvents: 0x60, droppedLinks: 0x70, status: 0x7a },
  /** This tag has two bytes; the second is 1. */
  flags: 0x85
} as const
const EVENT = { time: 0x09, name: 0x12, attribute: 0x1a, droppedAttributes: 0x20 } as const
const STATUS = { message: 0x12, code: 0x18 } as const
const KEY_VALUE = { key: 0x0a, value: 0x12 } as const
const VALUE = { text: 0x0a, boolean: 0x10, integer: 0x18, double: 0x21, list: 0x2a, object: 0x32 } as const
const ITEM = 0x0a

export class PlainSpans {
  readonly #bytes: Buffer
  readonly #view: DataView
  #at = 0
  #parts = 0
  #mostParts = 0

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength)
    this.#view = new DataView(buffer, byteOffset, byteLength)
  }

  /** Number of messages nested in the most recently read span. */
  get parts(): number {
    return this.#parts
  }

  /** Reads the span in a byte range. Returns undefined if the span is not plain or has more than `mostParts` parts. */
  read({ from, end }: ByteRange, mostParts: number): OtlpSpan | undefined {
    this.#at = from
    this.#parts = 0
    this.#mostParts = mostParts
    try {
      return this.#span(end)
    } catch (error) {
      if (error === NOT_PLAIN) return undefined
      throw error
    }
  }

  #span(end: number): OtlpSpan {
    let [traceId, spanId, parentSpanId, traceState, name, statusMessage] = ['', '', '', '', '', '']
    let [kind, flags, startMicros, endMicros, statusCode] = [0, 0, 0, 0, 0]
    let [droppedAttributes, droppedEvents, droppedLinks] = [0, 0, 0]
    const attributes = new Map<string, Json>()
    let events: OtlpEvent[] | undefined
    while (this.#at < end) {
      switch (this.#bytes[this.#at++]) {
        case SPAN.traceId:
          traceId = this.#hex()
          break
        case SPAN.spanId:
          spanId = this.#hex()
          break
        case SPAN.traceState:
          traceState = this.#text()
          break
        case SPAN.parentSpanId:
          parentSpanId = this.#hex()
          break
        case SPAN.name:
          name = this.#text()
          break
        case SPAN.kind:
          kind = this.#varint()
          break
        case SPAN.start:
          startMicros = this.#micros()
          break
        case SPAN.end:
          endMicros = this.#micros()
          break
        case SPAN.attribute:
          this.#attribute(attributes)
          break
        case SPAN.droppedAttributes:
          droppedAttributes = this.#varint()
          break
        case SPAN.event:
          events ??= []
          if (events.push(this.#event()) > MOST_EVENTS) throw NOT_PLAIN
          break
        case SPAN.droppedEvents:
          droppedEvents = this.#varint()
          break
        case SPAN.droppedLinks:
          droppedLinks = this.#varint()
          break
        case SPAN.status: {
          const statusEnd = this.#inner()
          while (this.#at < statusEnd) {
            const tag = this.#bytes[this.#at++]
            if (tag === STATUS.code) statusCode = this.#varint()
            else if (tag === STATUS.message) statusMessage = this.#text()
            else throw NOT_PLAIN
          }
          this.#close(statusEnd)
          break
        }
        case SPAN.flags:
          if (this.#bytes[this.#at++] !== 1) throw NOT_PLAIN
          flags = this.#fixed32()
          break
        default:
          throw NOT_PLAIN
      }
    }
    this.#close(end)
    return {
      traceId,
      spanId,
      parentSpanId,
      traceState,
      flags,
      name,
      kind,
      startMicros,
      endMicros,
      attributes,
      droppedAttributes,
      events: events ?? NO_EVENTS,
      droppedEvents,
      links: NO_LINKS,
      droppedLinks,
      statusCode,
      statusMessage
    }
  }

  #event(): OtlpEvent {
    const end = this.#inner()
    const attributes = new Map<string, Json>()
    let name = ''
    let micros = 0
    let droppedAttributes = 0
    while (this.#at < end) {
      const tag = this.#bytes[this.#at++]
      if (tag === EVENT.time) micros = this.#micros()
      else if (tag === EVENT.name) name = this.#text()
      else if (tag === EVENT.attribute) this.#attribute(attributes)
      else if (tag === EVENT.droppedAttributes) droppedAttributes = this.#varint()
      else throw NOT_PLAIN
    }
    this.#close(end)
    return { name, micros, attributes, droppedAttributes }
  }

  #attribute(into: Map<string, Json>): void {
    const end = this.#inner()
    into.set(this.#key(), this.#valueOfKey(end, 0))
  }

  #key(): string {
    if (this.#bytes[this.#at] !== KEY_VALUE.key) return ''
    this.#at++
    return this.#text()
  }

  /** Reads the value that follows a key. The value must be the key-value message's last field. */
  #valueOfKey(end: number, depth: number): Json {
    if (this.#at === end) return null
    if (this.#bytes[this.#at++] !== KEY_VALUE.value) throw NOT_PLAIN
    const value = this.#value(depth)
    this.#close(end)
    return value
  }

  #value(depth: number): Json {
    const end = this.#inner()
    if (this.#at === end) return null
    const value = this.#valueOf(this.#bytes[this.#at++] as number, depth)
    this.#close(end)
    return value
  }

  #valueOf(tag: number, depth: number): Json {
    switch (tag) {
      case VALUE.text:
        return this.#text()
      case VALUE.boolean:
        return this.#varint() !== 0
      case VALUE.integer:
        return this.#integer()
      case VALUE.double: {
        const double = this.#view.getFloat64(this.#advance(8), true)
        // JSON has no NaN or infinities.
        return Number.isFinite(double) ? double : String(double)
      }
      case VALUE.list:
        return this.#list(depth + 1)
      case VALUE.object:
        return this.#object(depth + 1)
      default:
        throw NOT_PLAIN
    }
  }

  #list(depth: number): Json[] {
    if (depth > MAX_DEPTH) throw NOT_PLAIN
    const end = this.#inner()
    const items: Json[] = []
    while (this.#at < end) {
      if (this.#bytes[this.#at++] !== ITEM) throw NOT_PLAIN
      items.push(this.#value(depth))
    }
    this.#close(end)
    return items
  }

  #object(depth: number): Record<string, Json> {
    if (depth > MAX_DEPTH) throw NOT_PLAIN
    const end = this.#inner()
    const object: Record<string, Json> = {}
    while (this.#at < end) {
      if (this.#bytes[this.#at++] !== ITEM) throw NOT_PLAIN
      const memberEnd = this.#inner()
      setOwn(object, this.#key(), this.#valueOfKey(memberEnd, depth))
    }
    this.#close(end)
    return object
  }

  /** Begins a nested message and returns its end. */
  #inner(): number {
    if (++this.#parts > this.#mostParts) throw NOT_PLAIN
    const length = this.#varint()
    return this.#at + length
  }

  /** Checks that a message was read exactly to its end. */
  #close(end: number): void {
    if (this.#at !== end || end > this.#bytes.length) throw NOT_PLAIN
  }

  /** Skips `length` bytes and returns the position of the first of these bytes. */
  #advance(length: number): number {
    const from = this.#at
    this.#at = from + length
    if (this.#at > this.#bytes.length) throw NOT_PLAIN
    return from
  }

  /**
   * Reads a number of up to 28 bits. Reading past the last byte yields undefined, for which every comparison is false.
   */
  #varint(): number {
    const bytes = this.#bytes
    const a = bytes[this.#at++] as number
    if (a < 128) return a
    const b = bytes[this.#at++] as number
    if (b < 128) return (a & 127) | (b << 7)
    const c = bytes[this.#at++] as number
    if (c < 128) return (a & 127) | ((b & 127) << 7) | (c << 14)
    const d = bytes[this.#at++] as number
    if (d < 128) return (a & 127) | ((b & 127) << 7) | ((c & 127) << 14) | (d << 21)
    throw NOT_PLAIN
  }

  /** Reads a signed number of up to 64 bits, 7 bits per byte, lowest bits first. */
  #integer(): Json {
    let low = 0
    let high = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#bytes[this.#at++] as number
      const bits = byte & 127
      if (shift < 32) low |= bits << shift
      if (shift > 28) high |= bits << (shift - 32)
      else if (shift === 28) high |= bits >> 4
      if (byte < 128) return integerOf({ low, high, unsigned: false })
    }
    throw NOT_PLAIN
  }

  #fixed32(): number {
    return this.#view.getUint32(this.#advance(4), true)
  }

  #micros(): number {
    const from = this.#advance(8)
    return microsOfInt64({
      low: this.#view.getUint32(from, true),
      high: this.#view.getUint32(from + 4, true),
      unsigned: true
    })
  }

  #hex(): string {
    const from = this.#advance(this.#varint())
    return this.#bytes.toString('hex', from, this.#at)
  }

  #text(): string {
    const length = this.#varint()
    const from = this.#advance(length)
    const word = length <= MAX_WORD ? words.find(this.#bytes, from, length) : undefined
    if (word !== undefined) return word
    const part = this.#bytes.subarray(from, this.#at)
    if (isAscii(part)) return part.toString('latin1')
    if (!isUtf8(part)) throw NOT_PLAIN
    return part.toString()
  }
}

const words = new WordCache()
