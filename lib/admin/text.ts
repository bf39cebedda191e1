import { AdminError } from './admin-error.ts'

/** Refuses names and labels that are too long, or hold what would break a line or PostgreSQL's text (U+0000). */
export function checkText(what: string, text: string, least: number, most: number): string {
  const length = [...text].length
  if (length < least) throw new AdminError(`${what} must not be empty`)
  if (length > most) throw new AdminError(`${what} must have at most ${most} characters, but has ${length}`)
  if (/[\p{Cc}\p{Cs}]/u.test(text)) throw new AdminError(`${what} must not hold control characters`)
  return text
}
