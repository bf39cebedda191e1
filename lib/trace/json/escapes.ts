/**
 * Where the escapes of a text are, found in one pass when its reading begins. A search within the reading of each
 * string could end far behind it, and the engine may make such a search for strings that need none (it takes two that
 * are alike as one, and makes it before the question that it was to answer only for one of them): the cost was
 * quadratic then.
 */
const FIRST_PLACES = 1024
/** Behind every place. */
const NOWHERE = 0x7fff_ffff

export class Escapes {
  /** The positions in order, with NOWHERE behind the last. */
  places = new Int32Array(FIRST_PLACES).fill(NOWHERE)

  /**
   * Finds all escapes of a text. In JSON a backslash is always in a string; the character behind it may be another
   * one.
   */
  find(text: string): void {
    let count = 0
    for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at + 2)) {
      if (count + 1 === this.places.length) this.#makeRoom()
      this.places[count++] = at
    }
    this.places[count] = NOWHERE
  }

  #makeRoom(): void {
    const larger = new Int32Array(this.places.length * 2)
    larger.set(this.places)
    this.places = larger
  }
}
