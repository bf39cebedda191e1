/**
 * Finds the positions of all escapes in a text in one pass before scanning. Searching separately in each string made
 * the cost quadratic, because a search for the next escape could run far past the end of the string.
 */
const FIRST_PLACES = 1024
/** A number greater than any position in a text. */
const NOWHERE = 0x7fff_ffff
const SMALL_U = 117
/** Kinds of escapes, by the code of the character after the backslash. Other characters cannot be escaped. */
const SIMPLE = 1
const RESPELT = 2
const KINDS = new Uint8Array(128)
for (const character of '"\\bfnrt') KINDS[character.charCodeAt(0)] = SIMPLE
for (const character of '/u') KINDS[character.charCodeAt(0)] = RESPELT

export class Escapes {
  /** Positions in ascending order, followed by NOWHERE. */
  places = new Int32Array(FIRST_PLACES).fill(NOWHERE)
  /** Whether any of the escapes spells a character by number. */
  hasNumbered = false
  /** Whether any of the escapes may be spelled differently in canonical form: `\/`, or a character by number. */
  hasRespelt = false

  /**
   * Finds all escapes in a JSON text. Skips the character after each backslash because it may be a backslash too.
   * Returns false if a character must not be escaped. Whether digits follow a `\u` is not checked.
   */
  find(text: string): boolean {
    let count = 0
    let areValid = true
    this.hasNumbered = false
    this.hasRespelt = false
    for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at + 2)) {
      if (count + 1 === this.places.length) this.#makeRoom()
      this.places[count++] = at
      const code = text.charCodeAt(at + 1)
      const kind = KINDS[code]
      if (kind === SIMPLE) continue
      if (kind !== RESPELT) areValid = false
      this.hasRespelt = true
      if (code === SMALL_U) this.hasNumbered = true
    }
    this.places[count] = NOWHERE
    return areValid
  }

  #makeRoom(): void {
    const larger = new Int32Array(this.places.length * 2)
    larger.set(this.places)
    this.places = larger
  }
}
