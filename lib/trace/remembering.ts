/** Remembers what a function made of short texts, of which there are few: names of attributes, keys, and the like. */
const MOST_TEXTS = 1000
const MOST_LENGTH = 64

/** The same function. What it makes of a text that comes again is the same value again. */
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
