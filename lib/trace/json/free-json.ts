/** The free JSON of a body (input, output, attributes, metadata), in two forms: as it is stored, and canonical. */
import { canonicalise, parseExact, stringifyExact } from './exact-json.ts'
import type { Scanner } from './scanner.ts'

export interface FreeJson {
  /**
   * Compact JSON text as it is stored, with every number as it was sent; null for the value that a null in the column
   * means.
   */
  readonly stored: string | null
  /** RFC 8785 canonical JSON, which decides identity. */
  readonly canonical: string
}

export const NULL: FreeJson = { stored: null, canonical: 'null' }
export const EMPTY_OBJECT: FreeJson = { stored: null, canonical: '{}' }
export const EMPTY_LIST: FreeJson = { stored: null, canonical: '[]' }

/**
 * How many bytes the stored text has more than the canonical one; negative if it has fewer. The two differ only in the
 * order of keys and in numbers, which are ASCII, so lengths in UTF-16 code units can be compared.
 */
export const surplusOf = ({ stored, canonical }: FreeJson): number =>
  stored === null ? 0 : stored.length - canonical.length

/** Free JSON that was never parsed, inside a value that was (raw-json.ts). */
export class RawJson implements FreeJson {
  readonly stored: string
  readonly canonical: string
  constructor(stored: string, canonical: string) {
    this.stored = stored
    this.canonical = canonical
  }
}

/**
 * A value that a scanner passes, stored as its own text. Strings are stored in the spelling of the canonical form;
 * numbers keep their text, and keys their order.
 */
export function passFree(scanner: Scanner, pass: () => string): RawJson {
  const from = scanner.at
  scanner.isRespelt = false
  const canonical = pass()
  const raw = scanner.text.slice(from, scanner.at)
  const stored = scanner.isRespelt ? stringifyExact(parseExact(raw)) : raw
  return new RawJson(stored, canonical === '' ? stored : canonical)
}

/** The free JSON of a parsed value. `inexact` says that it may hold LosslessNumbers. */
export function freeJsonOf(value: unknown, inexact: boolean): FreeJson {
  if (value === null) return NULL
  if (value instanceof RawJson) return value
  const stored = stringifyExact(value, inexact)
  return { stored, canonical: canonicalise(value, stored) }
}
