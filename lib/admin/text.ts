import { InputError } from '../admin-error.ts'
import { visible } from '../log-text.ts'

/**
 * Returns `text`. Throws an InputError if the text is too short, is too long, or contains control characters or line
 * breaks.
 */
export function checkText(what: string, text: string, least: number, most: number): string {
  const length = [...text].length
  if (length < least) throw new InputError(`${what} must not be empty`)
  if (length > most) throw new InputError(`${what} must have at most ${most} characters, but has ${length}`)
  if (/\p{Cs}/u.test(text) || visible(text) !== text)
    throw new InputError(`${what} must not contain control characters`)
  return text
}

/** Quotes a given key id for a message, without the secret if the input may contain a whole key. */
export function quoteKeyId(given: string): string {
  const [, keyId] = /_live_([0-9A-Za-z]{16})(?:_|$)/.exec(given) ?? []
  if (keyId !== undefined) return `with that id, which looks like a full key (its id is ${keyId})`
  return given.length > 16 ? 'with that id, which is too long to be a key id' : JSON.stringify(given)
}
