/**
 * Texts that spans repeat: names of attributes, models, and the like. A text that comes again is the same string again,
 * which is faster than making one, and faster as a key of a Map, since V8 keeps a string's hash with the string.
 */

/** A power of two. A text takes the place of another one whose hash ends in the same bits. */
const PLACES = 2048

export class WordCache {
  readonly #words = new Array<string>(PLACES).fill('')

  /** The text of these bytes; undefined if they are not ASCII. */
  find(bytes: Buffer, from: number, length: number): string | undefined {
    let hash = length
    let all = 0
    for (let i = 0; i < length; i++) {
      const byte = bytes[from + i] as number
      hash = (Math.imul(hash, 31) + byte) | 0
      all |= byte
    }
    if (all > 127) return undefined
    const place = (hash ^ (hash >>> 15)) & (PLACES - 1)
    const known = this.#words[place] as string
    if (isSame(known, bytes, from, length)) return known
    const word = bytes.toString('latin1', from, from + length)
    this.#words[place] = word
    return word
  }
}

function isSame(word: string, bytes: Uint8Array, from: number, length: number): boolean {
  if (word.length !== length) return false
  for (let i = 0; i < length; i++) if (word.charCodeAt(i) !== bytes[from + i]) return false
  return true
}
