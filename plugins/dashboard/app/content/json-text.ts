/**
 * Reads JSON without converting it. Nodes record the positions of values, so that the page shows values exactly as
 * sent, with all digits of numbers and with keys in order, including duplicates. Children are read on demand.
 */

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

export interface JsonNode {
  readonly kind: JsonKind
  /** The value occupies the range from `start` to `end` (exclusive). */
  readonly start: number
  readonly end: number
}

export interface JsonMember {
  /** Range of the key with its quotes; undefined in an array. */
  readonly key: { readonly start: number; readonly end: number } | undefined
  readonly index: number
  readonly node: JsonNode
}

const KINDS: Readonly<Record<string, JsonKind>> = {
  '{': 'object',
  '[': 'array',
  '"': 'string',
  t: 'boolean',
  f: 'boolean',
  n: 'null'
}

/** Returns the value at index `from`, skipping whitespace before the value; undefined if there is no value. */
export function nodeAt(text: string, from = 0): JsonNode | undefined {
  const start = skipSpace(text, from)
  if (start >= text.length) return undefined
  const kind = KINDS[text[start]!] ?? 'number'
  const end = endOfValue(text, start)
  return end === undefined || end === start ? undefined : { kind, start, end }
}

/** Returns at most `most` members of an object or array, starting at index `skip`. */
export function membersOf(text: string, node: JsonNode, skip = 0, most = Number.POSITIVE_INFINITY): JsonMember[] {
  const members: JsonMember[] = []
  if (node.kind !== 'object' && node.kind !== 'array') return members
  let at = skipSpace(text, node.start + 1)
  for (let index = 0; at < node.end - 1 && members.length < most; index++) {
    let key: JsonMember['key']
    if (node.kind === 'object') {
      const end = endOfString(text, at)
      if (end === undefined) break
      key = { start: at, end }
      at = skipSpace(text, end) + 1
    }
    const value = nodeAt(text, at)
    if (value === undefined) break
    if (index >= skip) members.push({ key, index, node: value })
    at = skipSpace(text, value.end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return members
}

export function countMembers(text: string, node: JsonNode): number {
  if (node.kind !== 'object' && node.kind !== 'array') return 0
  let at = skipSpace(text, node.start + 1)
  if (at >= node.end - 1) return 0
  let count = 1
  let depth = 0
  for (; at < node.end - 1; at++) {
    const c = text.charCodeAt(at)
    if (c === QUOTE) at = (endOfString(text, at) ?? node.end) - 1
    else if (c === OPEN_BRACE || c === OPEN_BRACKET) depth++
    else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) depth--
    else if (c === COMMA && depth === 0) count++
  }
  return count
}

/** Returns the member with a key or an index. For a duplicate key, the last member wins. */
export function memberAt(text: string, node: JsonNode, key: string | number): JsonNode | undefined {
  if (typeof key === 'number') return membersOf(text, node, key, 1)[0]?.node
  return membersOf(text, node).findLast(member => member.key !== undefined && readString(text, member.key) === key)
    ?.node
}

export function readString(text: string, { start, end }: { readonly start: number; readonly end: number }): string {
  const inner = text.slice(start + 1, end - 1)
  if (!inner.includes('\\')) return inner
  try {
    return JSON.parse(text.slice(start, end))
  } catch {
    return inner
  }
}

export function sourceOf(text: string, { start, end }: JsonNode): string {
  return text.slice(start, end)
}

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length) {
    const c = text.charCodeAt(at)
    if (c !== 32 && c !== 10 && c !== 13 && c !== 9) break
    at++
  }
  return at
}

function endOfValue(text: string, start: number): number | undefined {
  const c = text.charCodeAt(start)
  if (c === QUOTE) return endOfString(text, start)
  if (c !== OPEN_BRACE && c !== OPEN_BRACKET) {
    let at = start
    while (at < text.length && !isDelimiter(text.charCodeAt(at))) at++
    return at
  }
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const each = text.charCodeAt(at)
    if (each === QUOTE) {
      const end = endOfString(text, at)
      if (end === undefined) return undefined
      at = end - 1
    } else if (each === OPEN_BRACE || each === OPEN_BRACKET) depth++
    else if (each === CLOSE_BRACE || each === CLOSE_BRACKET) {
      depth--
      if (depth === 0) return at + 1
    }
  }
  return undefined
}

function endOfString(text: string, start: number): number | undefined {
  if (text.charCodeAt(start) !== QUOTE) return undefined
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at + 1
  }
  return undefined
}

function isDelimiter(c: number): boolean {
  return (
    c === COMMA || c === CLOSE_BRACE || c === CLOSE_BRACKET || c === 32 || c === 10 || c === 13 || c === 9 || c === 58
  )
}

/** Matches numbers that JavaScript might print differently from the source text. */
const INEXACT = /[-\d.]{16,}|\d[eE]|\.\d*0(?!\d)|-0(?![\d.])/

/** A number that JavaScript would not print exactly as sent. */
export class ExactNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toJSON(): unknown {
    return Number(this.text)
  }
  toString(): string {
    return this.text
  }
}

/**
 * Parses JSON. Numbers that a double cannot reproduce become ExactNumber; all keys, including `__proto__`, become own
 * properties.
 */
export function parseExactly(text: string): unknown {
  if (!INEXACT.test(text)) return JSON.parse(text)
  const node = nodeAt(text)
  return node === undefined ? JSON.parse(text) : readNode(text, node)
}

function readNode(text: string, node: JsonNode): unknown {
  const source = sourceOf(text, node)
  switch (node.kind) {
    case 'array':
      return membersOf(text, node).map(member => readNode(text, member.node))
    case 'object':
      return Object.fromEntries(
        membersOf(text, node).map(({ key, node }) => [readString(text, key!), readNode(text, node)])
      )
    case 'number':
      return String(Number(source)) === source ? Number(source) : new ExactNumber(source)
    default:
      return INEXACT.test(source) && node.kind !== 'string' ? source : JSON.parse(source)
  }
}

/** Formats a value as indented JSON, with exact numbers in their original notation. */
export const writeIndented = (value: unknown): string => write(value, '')

/** Formats a value as JSON on one line, with exact numbers in their original notation. */
export const writeCompact = (value: unknown): string => write(value, undefined)

function write(value: unknown, indent: string | undefined): string {
  if (value instanceof ExactNumber) return value.text
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const inner = indent === undefined ? undefined : `${indent}  `
  const parts = Array.isArray(value)
    ? value.map(each => write(each, inner))
    : Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${write(each, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (parts.length === 0 || inner === undefined) return `${open}${parts.join(', ')}${close}`
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`
}
