import type { Mark } from './emphasis.ts'

/** A `[` or `![` that may start a link or an image. */
export interface Bracket {
  /** Index of the bracket among the pieces of the text. */
  readonly piece: number
  /** Position where the bracket's text starts. */
  readonly from: number
  readonly isImage: boolean
  /** The last emphasis mark before the bracket. */
  readonly before: Mark | undefined
}

export interface Target {
  readonly address: string
  /** Position after the target. */
  readonly end: number
}

/** Link addresses by name. */
export type Definitions = ReadonlyMap<string, string>

const DEFINITION = /^ {0,3}\[([^[\]]{1,200})\]:[ \t]*<?([^\s<>]+)>?(?:[ \t]+["'(].*)?$/

export const isDefinition = (line: string): boolean => DEFINITION.test(line)

/** Reads the link definitions. If a name is defined several times, the first definition applies. */
export function readDefinitions(lines: readonly string[]): Definitions {
  const found = new Map<string, string>()
  for (const line of lines) {
    const [, name, address] = DEFINITION.exec(line) ?? []
    if (name !== undefined && !found.has(nameOf(name))) found.set(nameOf(name), address as string)
  }
  return found
}

/** Normalises a name, because names are compared without regard to case and whitespace. */
const nameOf = (label: string): string => label.trim().replace(/\s+/g, ' ').toLowerCase()

const LONGEST_TITLE = 1000
const LONGEST_NAME = 200
const MOST_PARENTHESES = 32

/**
 * Reads the target after the `]` of a label: `(address "title")`, `[name]`, or nothing if the label itself is the name.
 */
export function targetAt(text: string, at: number, label: string, definitions: Definitions): Target | undefined {
  if (text[at] === '(') {
    const target = addressAt(text, at + 1)
    if (target !== undefined) return target
  }
  const [whole = '', name = ''] = /^\[([^[\]]*)\]/.exec(text.slice(at, at + LONGEST_NAME)) ?? []
  const wanted = name.trim() === '' ? label : name
  const address = wanted.length > LONGEST_NAME ? undefined : definitions.get(nameOf(wanted))
  return address === undefined ? undefined : { address, end: at + whole.length }
}

/** Reads `address "title")` and ignores the title. */
function addressAt(text: string, from: number): Target | undefined {
  const start = skipSpace(text, from)
  let end = start
  let address: string
  if (text[start] === '<') {
    end++
    while (end < text.length && !/[<>\n]/.test(text[end] as string)) end++
    if (text[end] !== '>') return undefined
    address = text.slice(start + 1, end++)
  } else {
    let depth = 0
    for (; end < text.length; end++) {
      const c = text[end] as string
      if (c === '(' && ++depth > MOST_PARENTHESES) return undefined
      if (c === ')' && --depth < 0) break
      if (c <= ' ') break
    }
    address = text.slice(start, end)
  }
  end = skipSpace(text, end)
  const quote = { '"': '"', "'": "'", '(': ')' }[text[end] as string]
  if (quote !== undefined) {
    const title = text.slice(end + 1, end + 1 + LONGEST_TITLE).indexOf(quote)
    if (title === -1) return undefined
    end = skipSpace(text, end + title + 2)
  }
  return text[end] === ')' ? { address: address.replace(/\\([!-/:-@[-`{-~])/g, '$1'), end: end + 1 } : undefined
}

const MOST_SPACE = 100

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < from + MOST_SPACE && /\s/.test(text[at] ?? '')) at++
  return at
}

const SAFE = /^(?:https?|mailto):/i

/** Returns the address if links to it are allowed; undefined for scripts, data, files and other addresses. */
export function safeAddress(address: string): string | undefined {
  const trimmed = address.trim()
  return SAFE.test(trimmed) && !/[\u0000-\u0020]/.test(trimmed) ? trimmed : undefined
}
