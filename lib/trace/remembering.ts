/** Caches results for short strings with few distinct values, such as attribute names and keys. */
const MOST_TEXTS = 1000
const MOST_LENGTH = 64

/** Returns a caching version of `make`, which computes the result once per distinct string. */
export function remembering<T>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return text => {
    const before = known.get(text)
    if (before !== undefined) return before
    const made = make(text)
    if (text.length > MOST_LENGTH) return made
    if (known.size >= MOST_TEXTS) known.clear()
    known.set(text, made)
    return made
  }
}
