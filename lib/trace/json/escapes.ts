/**
 * Finds the positions of all escapes of a text in one pass, when its reading begins. To search again from each string
 * made the cost quadratic: a search could end far behind its string, and V8 may run it even for strings that need none.
 */
const FIRST_PLACES = 1024
/** Behind every place. */
const NOWHERE = 0x7fff_ffff

export class Escapes {
  /** The positions in order, followed by NOWHERE. */
  places = new Int32Array(FIRST_PLACES).fill(NOWHERE)

  /**
   * Finds all escapes of a text. In JSON a backslash is always in a string; the next character may be a backslash too.
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
