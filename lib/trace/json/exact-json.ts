/**
 * Parses and writes JSON without changing any value. Numbers beyond a double's precision, empty keys, `__proto__` keys,
 * U+0000 and unpaired surrogates all survive. Values with equal RFC 8785 canonical forms count as identical.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { LosslessNumber, parse as parseLossless } from 'lossless-json'
import { isHeld } from '../../schema/decimal.ts'
import { canonicalNumber } from './canonical-number.ts'

/** A parsed JSON value. A number that JavaScript would write differently is a LosslessNumber. */
export type Json = unknown

export const isJsonObject = (value: Json): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof LosslessNumber)

/** Returns a member of an object; undefined for a value of another type. */
export const memberOf = (value: Json, name: string): Json => (isJsonObject(value) ? value[name] : undefined)

const QUOTE = 34
const BACKSLASH = 92

/** Decodes a body and removes its byte-order mark. Returns undefined if the body is not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // ASCII is decoded as Latin-1 so that V8 stores one byte per character, which makes all later work much faster.
  if (isAscii(buffer)) return buffer.toString('latin1')
  if (!isUtf8(buffer)) return undefined
  const text = buffer.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** Matches characters below U+0020, which JSON allows only between values. */
export const CONTROL = /[\u0000-\u001f]/

/** Whether UTF-8 bytes contain a character below U+0020. Faster than CONTROL because it checks 16 bytes at a time. */
export function holdsControls(bytes: Uint8Array): boolean {
  const { buffer, byteOffset, byteLength } = bytes
  const head = Math.min((4 - (byteOffset % 4)) % 4, byteLength)
  const words = new Uint32Array(buffer, byteOffset + head, (byteLength - head) >> 2)
  let found = 0
  // Subtracting 0x20 sets the high bit of each byte below 0x20. `& ~a` excludes bytes whose high bit was set before.
  const { length } = words
  let at = 0
  for (; at + 4 <= length; at += 4) {
    const a = words[at] as number
    const b = words[at + 1] as number
    const c = words[at + 2] as number
    const d = words[at + 3] as number
    found |= ((a - 0x20202020) & ~a) | ((b - 0x20202020) & ~b) | ((c - 0x20202020) & ~c) | ((d - 0x20202020) & ~d)
  }
  for (; at < length; at++) found |= ((words[at] as number) - 0x20202020) & ~(words[at] as number)
  if ((found & 0x80808080) !== 0) return true
  for (let i = 0; i < head; i++) if ((bytes[i] as number) < 0x20) return true
  for (let i = head + words.length * 4; i < byteLength; i++) if ((bytes[i] as number) < 0x20) return true
  return false
}

/** Returns the position after the string that opens at `open`, or 0 if the string is unterminated. */
export function pastString(text: string, open: number): number {
  let close = text.indexOf('"', open + 1)
  while (text.charCodeAt(close - 1) === BACKSLASH) {
    let first = close - 1
    while (text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((close - first) % 2 === 0) return close + 1
    close = text.indexOf('"', close + 1)
  }
  return close + 1
}

/**
 * Whether JavaScript writes the number exactly like `literal`. JavaScript writes 1.0, -0, 1E2 and 1e400 differently.
 */
const isWrittenSo = (literal: string): boolean => String(Number(literal)) === literal

/**
 * Converts a LosslessNumber to a plain number if a double represents the value exactly. Returns other values unchanged.
 */
export function plainNumber(value: Json): Json {
  return value instanceof LosslessNumber && isHeld(value.value) ? Number(value.value) : value
}

/** Facts about a JSON text that JSON.parse does not report. */
export interface TextFacts {
  /** Nesting depth. The outermost object or array is level 1. */
  readonly depth: number
  /** Whether the text contains a number that JavaScript would write differently. */
  readonly inexact: boolean
}

/**
 * Scans everything outside strings once. For long numbers, this is faster than a regular expression
 * (test/bench/RESULTS.md, "Reading bodies").
 */
export function inspectText(text: string): TextFacts {
  let level = 0
  let depth = 0
  let inexact = false
  for (let i = 0; i < text.length; ) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      // Text that is not valid JSON may end inside a string.
      i = pastString(text, i) || text.length
    } else if (code === 45 || (code >= 48 && code <= 57)) {
      const start = i
      let hasOnlyDigits = code !== 45
      for (i++; i < text.length; i++) {
        const next = text.charCodeAt(i)
        if (next >= 48 && next <= 57) continue
        if (next !== 43 && next !== 45 && next !== 46 && next !== 69 && next !== 101) break
        hasOnlyDigits = false
      }
      // Integers of up to 15 digits always survive conversion to a double and have only one spelling.
      if (!inexact && (!hasOnlyDigits || i - start > 15)) inexact = !isWrittenSo(text.slice(start, i))
    } else {
      if (code === 123 || code === 91) {
        if (++level > depth) depth = level
      } else if (code === 125 || code === 93) level--
      i++
    }
  }
  return { depth, inexact }
}

const readNumber = (literal: string): unknown => (isWrittenSo(literal) ? Number(literal) : new LosslessNumber(literal))

/**
 * Parses valid JSON and keeps number spellings. Slower than JSON.parse, and therefore used only for texts with numbers
 * that JSON.parse would change.
 */
export function parseInexact(text: string): Json {
  return parseLossless(text, null, { parseNumber: readNumber, onDuplicateKey: ({ newValue }) => newValue })
}

/** Parses valid JSON exactly, with JSON.parse if its numbers allow. The caller must have checked the nesting depth. */
export function parseExact(text: string): Json {
  return inspectText(text).inexact ? parseInexact(text) : JSON.parse(text)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !(value instanceof LosslessNumber)

/** Whether the key begins with a digit. JavaScript moves integer-like keys to the front of an object. */
const isIntegerLike = (key: string): boolean => {
  const first = key.charCodeAt(0)
  return first >= 48 && first <= 57
}

/**
 * Sorts the keys of every object by UTF-16 code units. Returns the value itself if already sorted. Returns undefined if
 * integer-like keys or `__proto__` prevent sorting, or if the value contains a LosslessNumber.
 */
function inKeyOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof LosslessNumber) return undefined
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined
    for (let i = 0; i < value.length; i++) {
      const item = inKeyOrder(value[i])
      if (item === undefined) return undefined
      if (item !== value[i] && copy === undefined) copy = value.slice(0, i)
      copy?.push(item)
    }
    return copy ?? value
  }
  const object = value as Record<string, unknown>
  const keys = Object.keys(object)
  let changed = false
  for (let i = 1; i < keys.length && !changed; i++) changed = (keys[i - 1] as string) > (keys[i] as string)
  if (changed) keys.sort()
  const values: unknown[] = []
  for (const key of keys) {
    if (isIntegerLike(key) || key === '__proto__') return undefined
    const before = object[key]
    const after = inKeyOrder(before)
    if (after === undefined) return undefined
    if (after !== before) changed = true
    values.push(after)
  }
  if (!changed) return value
  const copy: Record<string, unknown> = {}
  for (let i = 0; i < keys.length; i++) copy[keys[i] as string] = values[i]
  return copy
}

/** Writes a value key by key, in canonical form if `sorted`, otherwise in the existing key order. */
function write(value: unknown, sorted: boolean): string {
  if (value instanceof LosslessNumber) return sorted ? canonicalNumber(value.value) : value.value
  if (!isObject(value)) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(item => write(item, sorted)).join(',')}]`
  const keys = Object.keys(value)
  if (sorted) keys.sort()
  return `{${keys.map(key => `${JSON.stringify(key)}:${write(value[key], sorted)}`).join(',')}}`
}

/** Returns compact JSON with keys in the order sent. `inexact` says whether the value may contain LosslessNumbers. */
export function stringifyExact(value: Json, inexact = true): string {
  return inexact ? write(value, false) : JSON.stringify(value)
}

/**
 * Returns RFC 8785 canonical JSON, with numbers formatted by canonical-number.ts. `text` is the value's compact JSON,
 * if available, and is returned if already canonical.
 */
export function canonicalise(value: Json, text?: string): string {
  const ordered = inKeyOrder(value)
  if (ordered === undefined) return write(value, true)
  return ordered === value && text !== undefined ? text : JSON.stringify(ordered)
}
