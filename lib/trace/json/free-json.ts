/** Free JSON of a body (input, output, attributes, metadata) in both its forms. */
import { canonicalise, parseExact, stringifyExact } from './exact-json.ts'
import type { Scanner } from './scanner.ts'

export interface FreeJson {
  /** Compact JSON text, as it is stored; null where the column's default says the same. */
  readonly stored: string | null
  /** RFC 8785 canonical JSON, by which it is identified and measured. */
  readonly canonical: string
}

export const NULL: FreeJson = { stored: null, canonical: 'null' }
export const EMPTY_OBJECT: FreeJson = { stored: null, canonical: '{}' }
export const EMPTY_LIST: FreeJson = { stored: null, canonical: '[]' }

/** Free JSON within a value that was parsed otherwise (raw-json.ts). */
export class RawJson implements FreeJson {
  readonly stored: string
  readonly canonical: string
  constructor(stored: string, canonical: string) {
    this.stored = stored
    this.canonical = canonical
  }
}

/**
 * A value that a scanner passes, stored as the text that it is. Where the canonical form writes a text or a number
 * otherwise, it is stored as that writes it, in the order sent: what is stored is always as long as what is measured.
 */
export function passFree(scanner: Scanner, pass: () => string): RawJson {
  const from = scanner.at
  scanner.isRespelt = false
  const canonical = pass()
  const raw = scanner.text.slice(from, scanner.at)
  const stored = scanner.isRespelt ? stringifyExact(parseExact(raw)) : raw
  return new RawJson(stored, canonical === '' ? stored : canonical)
}

/** A value that was parsed. `inexact`: it may hold LosslessNumbers. */
export function freeJsonOf(value: unknown, inexact: boolean): FreeJson {
  if (value === null) return NULL
  if (value instanceof RawJson) return value
  const stored = stringifyExact(value, inexact)
  return { stored, canonical: canonicalise(value, stored) }
}
