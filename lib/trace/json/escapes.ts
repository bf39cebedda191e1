/**
 * Finds the positions of all escapes in a text in one pass before scanning. Searching separately in each string made
 * the cost quadratic, because a search for the next escape could run far past the end of the string.
 */
const FIRST_PLACES = 1024
/** A number greater than any position in a text. */
const NOWHERE = 0x7fff_ffff
const SMALL_U = 117

export class Escapes {
  /** Positions in ascending order, followed by NOWHERE. */
  places = new Int32Array(FIRST_PLACES).fill(NOWHERE)
  /** Whether any of the escapes spells a character by number. */
  hasNumbered = false

  /** Finds all escapes in a JSON text. Skips the character after each backslash because it may be a backslash too. */
  find(text: string): void {
    let count = 0
    this.hasNumbered = false
    for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at + 2)) {
      if (count + 1 === this.places.length) this.#makeRoom()
      this.places[count++] = at
      if (text.charCodeAt(at + 1) === SMALL_U) this.hasNumbered = true
    }
    this.places[count] = NOWHERE
  }

  #makeRoom(): void {
    const larger = new Int32Array(this.places.length * 2)
    larger.set(this.places)
    this.places = larger
  }
}
