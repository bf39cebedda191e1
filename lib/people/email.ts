/** The addresses by which people are known. Nothing is sent to them. */
import { visible } from '../log-text.ts'

const MAX_LENGTH = 254
/** One @ with something on both sides, and neither spaces nor control characters. */
const ADDRESS = /^[^\s@\p{Cc}\p{Cs}]+@[^\s@\p{Cc}\p{Cs}]+$/u

/** Letters whose lower case is ASCII: with them, another person's address would become this one. */
const BECOMES_ASCII = /[\u0130\u212a]/

/** The name of the user that the first start makes, who has no address yet. */
export const FIRST_USER = 'owner'

export const EMAIL_RULE = `must be an e-mail address of at most ${MAX_LENGTH} characters`

/** The address in the form in which it is stored; undefined if it is none. */
export function readEmail(text: string): string | undefined {
  const email = foldEmail(text)
  if (BECOMES_ASCII.test(text) || visible(email) !== email) return undefined
  return email.length <= MAX_LENGTH && ADDRESS.test(email) ? email : undefined
}

/** The form in which a user is looked for, whether the text is an address or not. */
export const foldEmail = (text: string): string => text.trim().toLowerCase()
