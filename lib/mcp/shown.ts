/** A tool's result in the protocol's form. */
import { JsonPieces, JsonText } from '../http/route.ts'
import type { Result } from './long-result.ts'
import { wellFormed } from './well-formed.ts'

export interface Shown {
  readonly text: string
  /** `structuredContent`: JSON text in parts. */
  readonly parts: readonly (string | Uint8Array)[]
}

export function show(result: Result): Shown {
  if (typeof result === 'string') return { text: result, parts: [wellFormed(result)] }
  return { text: result.text, parts: result.pieces }
}

/** Returns a response body that joins these parts of JSON text. */
export function bodyOfParts(parts: readonly (string | Uint8Array)[]): JsonText | JsonPieces {
  if (parts.every(part => typeof part === 'string')) return new JsonText(parts.join(''))
  return new JsonPieces(parts.map(part => (typeof part === 'string' ? Buffer.from(part) : part)))
}
