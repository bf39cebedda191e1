/**
 * Where the escapes of a text are, found in one pass when its reading begins. A search within the reading of each string
 * could end far behind it, and the engine may make such a search for strings that need none (it takes two that are alike
 * as one, and makes it before the question that it was to answer only for one of them): the cost was quadratic then.
 */
const FIRST_PLACES = 1024
/** Behind every place. */
const NOWHERE = 0x7fff_ffff

export class Escapes {
  /** In their order, and NOWHERE behind the last. */
  places = new Int32Array(FIRST_PLACES).fill(NOWHERE)

  /** In JSON all backslashes are in strings, and each takes the character behind it along, which may be another. */
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
