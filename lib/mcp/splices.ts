/**
 * Inserts JSON texts verbatim into an SDK response. The SDK serialises values, so it receives small marks as values.
 * The JSON texts then replace the marks. Parsing the texts for the SDK would change numbers that a double cannot
 * represent, and would take longer than everything else (test/bench/RESULTS.md, "Tools").
 */
import { randomBytes } from 'node:crypto'
import { JsonPieces, JsonText } from '../http/route.ts'
import type { Result } from './long-result.ts'
import { wellFormed } from './well-formed.ts'

/** The mark is random, so content cannot contain it. */
const MARK = randomBytes(16).toString('hex')
const MARKS = new RegExp(`"${MARK}(\\d+)"|\\{"${MARK}":(\\d+)\\}`, 'g')

export class Splices {
  readonly #results: Shown[] = []

  /**
   * Returns two marks for a JSON object: one stands for a string that contains the text, the other for the object
   * itself.
   */
  mark(result: Shown): { readonly asString: string; readonly asObject: Record<string, number> } {
    const index = this.#results.push(result) - 1
    return { asString: `${MARK}${index}`, asObject: { [MARK]: index } }
  }

  /** Returns the parts of the response, in which each mark is replaced. */
  fill(json: string): readonly (string | Uint8Array)[] {
    const parts: (string | Uint8Array)[] = []
    let at = 0
    for (const { 0: mark, 1: asString, 2: asObject, index } of json.matchAll(MARKS)) {
      parts.push(json.slice(at, index))
      at = index + mark.length
      if (asString === undefined) parts.push(...this.#results[Number(asObject)]!.parts)
      else parts.push(JSON.stringify(this.#results[Number(asString)]!.text))
    }
    parts.push(json.slice(at))
    return parts
  }
}

interface Shown {
  readonly text: string
  /** JSON text of `structuredContent`, in parts. */
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
