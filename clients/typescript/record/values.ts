/**
 * Any value of an application as JSON text, within a budget of bytes that is measured while writing: nothing is copied
 * first. What cannot be JSON is told in words; what is too long is cut, and says by how much. Nothing here throws.
 */

export interface ValueOptions {
  /** The most bytes of the text, as UTF-8. Closing brackets and marks of cuts may exceed it by a few kilobytes. */
  readonly bytes: number
  readonly redact?: Redact | undefined
}

/**
 * Gets the name and value of each member, and each item of a list with its place as the name. Returns what is recorded in
 * its place; undefined leaves it out.
 */
export type Redact = (name: string, value: unknown) => unknown

export interface Written {
  readonly text: string
  readonly bytes: number
  /** How often something was left out since the budget was used up. */
  readonly cuts: number
}

/** Levels of nesting. The service takes 100, of which a body needs a few around the value. */
const MOST_LEVELS = 64
/** With less than this left, nothing more is begun. */
const SPARE_BYTES = 64
/** If long strings would crowd out later members, each string gets at most this share of the budget. */
const TEXT_SHARE = 1 / 16
const MOST_NAME = 1000
/** These members of an error come first. They need not be enumerable, so Object.keys may miss them. */
const ERROR_MEMBERS = ['name', 'message', 'stack', 'cause']

/** Undefined where there is nothing to record: for undefined, functions and symbols. */
export function writeValue(name: string, value: unknown, { bytes, redact }: ValueOptions): Written | undefined {
  const first = new Writer(bytes, bytes, redact)
  if (!first.write(name, value)) return undefined
  if (first.leftOut === 0) return first.result(bytes)
  const second = new Writer(bytes, Math.max(SPARE_BYTES, Math.floor(bytes * TEXT_SHARE)), redact)
  second.write(name, value)
  return second.result(bytes)
}

class Writer {
  #text = ''
  #left: number
  #cuts = 0
  readonly #open: object[] = []
  /** Members and items that are not there at all. */
  leftOut = 0
  readonly #mostText: number
  readonly #redact: Redact | undefined

  constructor(bytes: number, mostText: number, redact: Redact | undefined) {
    this.#left = bytes
    this.#mostText = mostText
    this.#redact = redact
  }

  result(bytes: number): Written {
    return { text: this.#text, bytes: bytes - this.#left, cuts: this.#cuts }
  }

  /** Writes a value with what stands before it; false, and nothing is written, where there is none. */
  write(name: string, value: unknown, before = ''): boolean {
    const [length, left, cuts, leftOut] = [this.#text, this.#left, this.#cuts, this.leftOut]
    const depth = this.#open.length
    try {
      const plain = this.#plain(name, value)
      if (plain === undefined) return false
      this.#raw(before)
      this.#any(plain)
    } catch (error) {
      // A getter, a proxy or a toJSON that throws: what was written of the value is taken back.
      this.#text = length
      this.#left = left
      this.#cuts = cuts
      this.leftOut = leftOut
      this.#open.length = depth
      this.#raw(before)
      this.#string(`[not readable: ${messageOf(error)}]`)
    }
    return true
  }

  /** The value as redaction and toJSON leave it; undefined: nothing to record. */
  #plain(name: string, given: unknown): unknown {
    let value = this.#redacted(name, given)
    // A Buffer's own JSON is a list of numbers.
    if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
      if (value instanceof Date && Number.isNaN(value.getTime())) return String(value)
      // The value that toJSON or String returns is new, so it is redacted as well.
      if (typeof (value as Jsonable).toJSON === 'function')
        value = this.#redacted(name, (value as Jsonable).toJSON!(name))
      else if (value instanceof String || value instanceof RegExp) value = this.#redacted(name, String(value))
    }
    return typeof value === 'function' || typeof value === 'symbol' ? undefined : value
  }

  #redacted(name: string, value: unknown): unknown {
    if (this.#redact === undefined) return value
    try {
      return this.#redact(name, value)
    } catch {
      // A redact function that throws must not let a secret through.
      return '[redact threw]'
    }
  }

  #any(value: unknown): void {
    if (typeof value === 'string') this.#string(value)
    else if (typeof value === 'number') this.#number(value)
    else if (value === null || typeof value === 'boolean') this.#raw(String(value))
    else if (typeof value === 'object') this.#object(value)
    else this.#string(String(value))
  }

  #number(value: number): void {
    if (Number.isFinite(value)) this.#raw(JSON.stringify(value))
    else this.#string(String(value))
  }

  #object(value: object): void {
    if (this.#open.includes(value)) this.#string('[circular]')
    else if (this.#open.length >= MOST_LEVELS) this.#string(`[deeper than ${MOST_LEVELS} levels]`)
    else {
      this.#open.push(value)
      this.#members(value)
      this.#open.pop()
    }
  }

  #members(value: object): void {
    if (Array.isArray(value)) this.#list(value, value.length)
    else if (value instanceof Set) this.#list(value, value.size)
    else if (value instanceof Map) {
      if (isKeyedByTexts(value)) this.#record(value, value.size)
      else this.#list(value, value.size)
    } else if (value instanceof Error) this.#own(value, [...new Set([...ERROR_MEMBERS, ...Object.keys(value)])])
    else if (value instanceof Number || value instanceof Boolean) this.#any(value.valueOf())
    else if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) this.#string(describeBytes(value))
    else {
      const names = Object.keys(value)
      const type = names.length === 0 ? typeName(value) : 'Object'
      if (type !== 'Object') this.#string(`[${type}]`)
      else this.#own(value, names)
    }
  }

  #own(value: object, names: readonly string[]): void {
    this.#record(ownMembers(value as Record<string, unknown>, names), names.length)
  }

  #list(items: Iterable<unknown>, count: number): void {
    this.#raw('[')
    let place = 0
    for (const item of items) {
      const comma = place === 0 ? '' : ','
      if (this.#left < SPARE_BYTES) {
        this.#raw(comma)
        this.#cut(count - place, 'items')
        break
      }
      if (!this.write(String(place), item, comma)) this.#raw(`${comma}null`)
      place++
    }
    this.#raw(']')
  }

  #record(members: Iterable<readonly [string, unknown]>, count: number): void {
    this.#raw('{')
    let place = 0
    let comma = ''
    for (const [name, value] of members) {
      if (this.#left < SPARE_BYTES) {
        this.#raw(`${comma}"…":`)
        this.#cut(count - place, 'members')
        break
      }
      const key = name.length > MOST_NAME ? `${name.slice(0, MOST_NAME)}…` : name
      if (this.write(name, value, `${comma}${JSON.stringify(key)}:`)) comma = ','
      place++
    }
    this.#raw('}')
  }

  #cut(count: number, what: string): void {
    this.#cuts++
    this.leftOut++
    this.#raw(JSON.stringify(`…[cut ${amount(count)} ${what}]`))
  }

  #string(value: string): void {
    const most = Math.min(this.#mostText, Math.max(0, this.#left))
    if (value.length <= most) {
      const json = JSON.stringify(value)
      const bytes = Buffer.byteLength(json)
      if (bytes <= most + 2) {
        this.#text += json
        this.#left -= bytes
        return
      }
    }
    this.#cuts++
    this.#raw(JSON.stringify(cutText(value, most)))
  }

  #raw(text: string): void {
    this.#text += text
    this.#left -= Buffer.byteLength(text)
  }
}

interface Jsonable {
  toJSON?(name: string): unknown
}

/** The beginning of a text that as JSON has at most so many bytes, and how much is missing. */
export function cutText(text: string, bytes: number): string {
  let kept = text.slice(0, bytes)
  // Characters of several bytes, and those that are escaped: each turn comes closer.
  for (let size = jsonBytes(kept); size > bytes; size = jsonBytes(kept)) {
    kept = kept.slice(0, Math.min(kept.length - 1, Math.floor((kept.length * bytes) / size)))
  }
  if (/[\uD800-\uDBFF]$/.test(kept)) kept = kept.slice(0, -1)
  return `${kept}…[cut ${amount(text.length - kept.length)} characters]`
}

const jsonBytes = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2

const amount = (count: number) => count.toLocaleString('en-US')

function isKeyedByTexts(map: Map<unknown, unknown>): map is Map<string, unknown> {
  for (const key of map.keys()) if (typeof key !== 'string') return false
  return true
}

function* ownMembers(value: Record<string, unknown>, names: readonly string[]): Generator<readonly [string, unknown]> {
  for (const name of names) yield [name, memberOf(value, name)]
}

/** A member whose getter throws is one that says so; the others are recorded. */
function memberOf(value: Record<string, unknown>, name: string): unknown {
  try {
    return value[name]
  } catch (error) {
    return `[not readable: ${messageOf(error)}]`
  }
}

function describeBytes(value: ArrayBufferView | ArrayBuffer): string {
  return `[${typeName(value)} of ${amount(value.byteLength)} bytes]`
}

function typeName(value: object): string {
  const name = Object.getPrototypeOf(value)?.constructor?.name
  return typeof name === 'string' && name !== '' ? name : 'Object'
}

export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error)
  } catch {
    return 'unknown'
  }
}
