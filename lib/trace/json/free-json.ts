/** Represents free-form JSON (input, output, attributes, metadata) in its stored and canonical forms. */
import { canonicalise, parseExact, stringifyExact } from './exact-json.ts'
import type { Scanner } from './scanner.ts'

export interface FreeJson {
  /** Compact JSON as stored, with numbers as sent. Null represents the field's empty value: null, {} or []. */
  readonly stored: string | null
  /** RFC 8785 canonical JSON, the form that is hashed. */
  readonly canonical: string
}

export const NULL: FreeJson = { stored: null, canonical: 'null' }
export const EMPTY_OBJECT: FreeJson = { stored: null, canonical: '{}' }
export const EMPTY_LIST: FreeJson = { stored: null, canonical: '[]' }

/**
 * Returns the stored length minus the canonical length, in bytes. The texts differ only in key order and in the
 * spelling of numbers, which is ASCII, so the difference in UTF-16 lengths is the same.
 */
export const surplusOf = ({ stored, canonical }: FreeJson): number =>
  stored === null ? 0 : stored.length - canonical.length

/** Unparsed free-form JSON inside a parsed value (raw-json.ts). */
export class RawJson implements FreeJson {
  readonly stored: string
  readonly canonical: string
  constructor(stored: string, canonical: string) {
    this.stored = stored
    this.canonical = canonical
  }
}

/**
 * Scans a value and keeps its text for storage. Strings are stored in canonical spelling, numbers as sent, and keys in
 * the order sent.
 */
export function passFree(scanner: Scanner, pass: () => string): RawJson {
  const from = scanner.at
  scanner.isRespelt = false
  const canonical = pass()
  const raw = scanner.text.slice(from, scanner.at)
  const stored = scanner.isRespelt ? stringifyExact(parseExact(raw)) : raw
  return new RawJson(stored, canonical === '' ? stored : canonical)
}

/** Converts a parsed value to free-form JSON. `inexact` says whether the value may contain LosslessNumbers. */
export function freeJsonOf(value: unknown, inexact: boolean): FreeJson {
  if (value === null) return NULL
  if (value instanceof RawJson) return value
  const stored = stringifyExact(value, inexact)
  return { stored, canonical: canonicalise(value, stored) }
}
