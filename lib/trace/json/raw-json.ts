/** Parses JSON but leaves free-form values as text, so that they can be stored exactly as sent. */

import { CONTROL, parseExact } from './exact-json.ts'
import { NULL, passFree, type RawJson } from './free-json.ts'
import { NOT_PLAIN, Scanner } from './scanner.ts'

const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/**
 * Parses a text like parseExact, but returns each non-null member with one of these names as a RawJson. Returns
 * undefined if the text is not plain (scanner.ts).
 */
export function parseKeeping(names: readonly string[], text: string, maxDepth: number): unknown {
  const scanner = new Scanner()

  function value(): unknown {
    const code = scanner.text.charCodeAt(scanner.at)
    if (code === OPEN_BRACE) return object()
    if (code === OPEN_BRACKET) return list()
    return parseExact(raw().stored)
  }

  const raw = () => passFree(scanner, () => scanner.value())

  function object(): unknown {
    scanner.open(OPEN_BRACE)
    const members: Record<string, unknown> = {}
    if (!scanner.isEmpty(CLOSE_BRACE)) {
      do {
        const name = scanner.name()
        setMember(members, name, names.includes(name) ? orNull(raw()) : value())
      } while (!scanner.closes(CLOSE_BRACE))
    }
    return members
  }

  function list(): unknown[] {
    scanner.open(OPEN_BRACKET)
    const items: unknown[] = []
    if (!scanner.isEmpty(CLOSE_BRACKET)) {
      do items.push(value())
      while (!scanner.closes(CLOSE_BRACKET))
    }
    return items
  }

  if (CONTROL.test(text)) return undefined
  try {
    scanner.start(text, maxDepth)
    const parsed = value()
    scanner.end()
    return parsed
  } catch (error) {
    if (error === NOT_PLAIN) return undefined
    throw error
  }
}

/** Sets a member as JSON.parse does: `__proto__` is a name like any other. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

const orNull = (json: RawJson): RawJson | null => (json.canonical === NULL.canonical ? null : json)
