import { AdminError } from './admin-error.ts'

/** Returns the text. Refuses one that is too short or too long, or has control characters (U+0000, line breaks). */
export function checkText(what: string, text: string, least: number, most: number): string {
  const length = [...text].length
  if (length < least) throw new AdminError(`${what} must not be empty`)
  if (length > most) throw new AdminError(`${what} must have at most ${most} characters, but has ${length}`)
  if (/[\p{Cc}\p{Cs}]/u.test(text)) throw new AdminError(`${what} must not hold control characters`)
  return text
}
