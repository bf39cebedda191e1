/**
 * Caches strings that spans repeat, such as attribute names and model names. Returning the cached string is faster than
 * creating one, and makes Map lookups faster because V8 caches each string's hash.
 */

/** Number of slots, a power of two. A string replaces the cached string whose hash ends in the same bits. */
const PLACES = 2048

export class WordCache {
  readonly #words = new Array<string>(PLACES).fill('')

  /** Returns the string that the bytes encode, or undefined if a byte is not ASCII. */
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
