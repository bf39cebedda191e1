/**
 * Puts JSON texts into an answer of the SDK as they are. The SDK serialises values, so it gets small marks, and the
 * texts take the places of the marks afterwards. To parse the texts for the SDK would change numbers that a double
 * cannot hold, and would take longer than everything else (test/bench/RESULTS.md, "Tools").
 */
import { randomBytes } from 'node:crypto'
import { wellFormed } from './well-formed.ts'

/** The mark is random, so that no content can hold it. */
const MARK = randomBytes(16).toString('hex')
const MARKS = new RegExp(`"${MARK}(\\d+)"|\\{"${MARK}":(\\d+)\\}`, 'g')

export class Splices {
  readonly #texts: string[] = []

  /** Marks for a JSON object: one for a string that holds its text, and one for the object itself. */
  mark(text: string): { readonly asString: string; readonly asObject: Record<string, number> } {
    const index = this.#texts.push(text) - 1
    return { asString: `${MARK}${index}`, asObject: { [MARK]: index } }
  }

  /** Puts the texts in the places of their marks. */
  fill(json: string): string {
    const textOf = (index: string) => this.#texts[Number(index)]!
    return json.replace(MARKS, (_, asString?: string, asObject = '') =>
      asString === undefined ? wellFormed(textOf(asObject)) : JSON.stringify(textOf(asString))
    )
  }
}
