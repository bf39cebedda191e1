/**
 * Writes any application value as JSON within a byte budget, without copying the value first. A value that JSON cannot
 * represent is described in words; an oversized value is cut, and a note says how much is missing. Nothing here throws.
 */
import { utf8Length } from './bytes.ts'

/**
 * Receives the name and value of everything that is recorded, and returns the value to record instead. The names are
 * those of object members; the index of a list item; an empty string for the names of members; and `traceName`,
 * `spanName`, `eventName`, `tag`, `sessionId`, `userId`, `model`, `scoreValue` and `scoreComment`. If the returned
 * value is undefined, a member is omitted, and an item becomes null. Ids and the names of scores are not passed.
 */
export type Redact = (name: string, value: unknown) => unknown

/** Replaces a text for which `redact` returned a value that is not text. */
const REDACTED = '[redacted]'

/** Returns the value to record instead of a value. */
export function redacted(redact: Redact | undefined, name: string, value: unknown): unknown {
  if (redact === undefined) return value
  try {
    return redact(name, value)
  } catch {
    // A redact function that throws must not reveal a secret.
    return '[redact threw]'
  }
}

/** Returns the text to record instead of a text. A value that is missing stays missing. */
export function redactedText<V>(redact: Redact | undefined, name: string, value: V): V | string {
  if (redact === undefined || value === undefined || value === null) return value
  const text = redacted(redact, name, value)
  return typeof text === 'string' ? text : REDACTED
}

/** Returns the value to record instead of a score's value. A score of text stays one. */
export function redactedScore<V extends number | string | boolean>(redact: Redact | undefined, value: V) {
  const shown = redacted(redact, 'scoreValue', value)
  if (typeof shown === 'string' || redact === undefined) return shown as V | string
  const isValid = typeof value !== 'string' && (typeof shown === 'number' || typeof shown === 'boolean')
  return isValid ? shown : REDACTED
}

/** Maximum nesting depth. The service accepts 100 levels in a request body, including a few around the value. */
const MOST_LEVELS = 64
/** Minimum remaining budget in bytes for writing another member or item. */
const SPARE_BYTES = 64
/** If long strings would crowd out later members, each string gets at most this share of the budget. */
const TEXT_SHARE = 1 / 16
const MOST_NAME = 1000
/** Error members that are written first, because `Object.keys` misses members that are not enumerable. */
const ERROR_MEMBERS = ['name', 'message', 'stack', 'cause']

/**
 * Returns undefined for a value that is not recorded: undefined, a function or a symbol. The JSON has at most `bytes`
 * bytes in UTF-8, not counting closing brackets and cut marks; these may add a few kilobytes.
 */
export function writeValue(name: string, value: unknown, limits: { bytes: number; redact?: Redact | undefined }) {
  const { bytes, redact } = limits
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
  /** Number of places where members or items were omitted. */
  leftOut = 0
  readonly #mostText: number
  readonly #redact: Redact | undefined

  constructor(bytes: number, mostText: number, redact: Redact | undefined) {
    this.#left = bytes
    this.#mostText = mostText
    this.#redact = redact
  }

  /** `cuts` is the number of cuts made because the budget was used up. */
  result(bytes: number) {
    return { text: this.#text, bytes: bytes - this.#left, cuts: this.#cuts }
  }

  /** Writes the string `before`, then the value. Returns false and writes nothing if the value is not recorded. */
  write(name: string, value: unknown, before = ''): boolean {
    const [length, left, cuts, leftOut] = [this.#text, this.#left, this.#cuts, this.leftOut]
    const depth = this.#open.length
    try {
      const plain = this.#plain(name, value)
      if (plain === undefined) return false
      this.#raw(before)
      this.#any(plain)
    } catch (error) {
      // A getter, a proxy or `toJSON` threw, so the partly written value is removed.
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

  /** Applies redaction and `toJSON`. Returns undefined if the value is not recorded. */
  #plain(name: string, given: unknown): unknown {
    let value = this.#redacted(name, given)
    // `Buffer.toJSON` returns a list of numbers, so binary data skips `toJSON`.
    if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
      if (value instanceof Date && Number.isNaN(value.getTime())) return String(value)
      // `toJSON` or `String` has returned a new value, which is redacted as well.
      const jsonable = value as { toJSON?(name: string): unknown }
      if (typeof jsonable.toJSON === 'function') value = this.#redacted(name, jsonable.toJSON(name))
      else if (value instanceof String || value instanceof RegExp) value = this.#redacted(name, String(value))
    }
    return typeof value === 'function' || typeof value === 'symbol' ? undefined : value
  }

  #redacted(name: string, value: unknown): unknown {
    return redacted(this.#redact, name, value)
  }

  /** A member's name has no name itself, so `redact` receives it with the name "". Equal names are numbered. */
  #redactedName(name: string, others: Set<string>): string {
    if (this.#redact === undefined) return name
    const given = redactedText(this.#redact, '', name)
    let text = given
    for (let number = 2; others.has(text); number++) text = `${given} ${number}`
    others.add(text)
    return text
  }

  #any(value: unknown): void {
    if (typeof value === 'string') this.#string(value)
    else if (value === null || typeof value === 'boolean') this.#raw(String(value))
    else if (typeof value === 'number' && Number.isFinite(value)) this.#raw(JSON.stringify(value))
    else if (typeof value === 'object') this.#object(value)
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
    else if (value instanceof Map && isKeyedByTexts(value)) this.#record(value, value.size)
    else if (value instanceof Set || value instanceof Map) this.#list(value, value.size)
    else if (value instanceof Number || value instanceof Boolean) this.#any(value.valueOf())
    else if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
      this.#string(`[${typeName(value)} of ${amount(value.byteLength)} bytes]`)
    else {
      const own = Object.keys(value)
      const names = value instanceof Error ? [...new Set([...ERROR_MEMBERS, ...own])] : own
      const type = names.length === 0 ? typeName(value) : 'Object'
      const members = WEB_TYPES[type]?.(value)
      if (typeof members === 'string') this.#string(members)
      else if (members !== undefined) this.#record(Object.entries(members), Object.keys(members).length)
      else if (type !== 'Object') this.#string(`[${type}]`)
      else this.#record(ownMembers(value as Record<string, unknown>, names), names.length)
    }
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
    const names = new Set<string>()
    for (const [name, value] of members) {
      if (this.#left < SPARE_BYTES) {
        this.#raw(`${comma}"…":`)
        this.#cut(count - place, 'members')
        break
      }
      const shown = this.#redactedName(name, names)
      const key = shown.length > MOST_NAME ? `${shown.slice(0, MOST_NAME)}…` : shown
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
      const bytes = utf8Length(json)
      if (bytes <= most + 2) {
        this.#text += json
        this.#left -= bytes
        return
      }
    }
    this.#cuts++
    this.#raw(JSON.stringify(cutToBytes(value, most)))
  }

  #raw(text: string): void {
    this.#text += text
    this.#left -= utf8Length(text)
  }
}

/**
 * Values of the web whose content is not in members of their own. Headers are not recorded, because they often contain
 * credentials.
 */
// biome-ignore lint/suspicious/noExplicitAny: the types are known by their names, which differ between platforms.
const WEB_TYPES: Readonly<Record<string, (value: any) => string | Record<string, unknown> | undefined>> = {
  Blob: ({ size }) => `[Blob of ${amount(size)} bytes]`,
  File: ({ size }) => `[File of ${amount(size)} bytes]`,
  FormData: fieldsOf,
  URLSearchParams: fieldsOf,
  Request: ({ method, url }) => ({ method, url }),
  Response: ({ status, url }) => ({ status, url })
}

/** Returns the fields by name. A name that occurs several times has a list. */
function fieldsOf(fields: FormData | URLSearchParams): Record<string, unknown> {
  const names = [...new Set(fields.keys())]
  const oneOrAll = (values: readonly unknown[]) => (values.length === 1 ? values[0] : values)
  return Object.fromEntries(names.map(name => [name, oneOrAll(fields.getAll(name))]))
}

/** Cuts a string to at most `bytes` bytes of JSON and appends the number of characters cut. */
export function cutToBytes(text: string, bytes: number): string {
  let kept = text.slice(0, bytes)
  // Multibyte and escaped characters make the length in bytes unpredictable, so several passes approach the limit.
  for (let size = jsonBytes(kept); size > bytes; size = jsonBytes(kept)) {
    kept = kept.slice(0, Math.min(kept.length - 1, Math.floor((kept.length * bytes) / size)))
  }
  if (/[\uD800-\uDBFF]$/.test(kept)) kept = kept.slice(0, -1)
  return `${kept}…[cut ${amount(text.length - kept.length)} characters]`
}

const jsonBytes = (text: string) => utf8Length(JSON.stringify(text)) - 2

const amount = (count: number) => count.toLocaleString('en-US')

function isKeyedByTexts(map: Map<unknown, unknown>): map is Map<string, unknown> {
  for (const key of map.keys()) if (typeof key !== 'string') return false
  return true
}

/**
 * Yields each member with its value. If a getter throws, a note replaces the value, so that the other members are still
 * recorded.
 */
function* ownMembers(value: Record<string, unknown>, names: readonly string[]): Generator<readonly [string, unknown]> {
  for (const name of names) {
    let member: unknown
    try {
      member = value[name]
    } catch (error) {
      member = `[not readable: ${messageOf(error)}]`
    }
    yield [name, member]
  }
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
