/** Validates the e-mail addresses that identify people. No mail is sent to the addresses. */
import { visible } from '../log-text.ts'

const MAX_LENGTH = 254
/** Matches text on both sides of a single @, without spaces or control characters. */
const ADDRESS = /^[^\s@\p{Cc}\p{Cs}]+@[^\s@\p{Cc}\p{Cs}]+$/u

/**
 * Non-ASCII letters whose lower case is ASCII. Such a letter could make an address equal to another person's address.
 */
const BECOMES_ASCII = /[\u0130\u212a]/

/** Name of the user that the first start creates, who has no address yet. */
export const FIRST_USER = 'owner'

export const EMAIL_RULE = `must be an e-mail address of at most ${MAX_LENGTH} characters`

/** Returns the address in its stored form; undefined if invalid. */
export function readEmail(text: string): string | undefined {
  const email = foldEmail(text)
  if (BECOMES_ASCII.test(text) || visible(email) !== email) return undefined
  return email.length <= MAX_LENGTH && ADDRESS.test(email) ? email : undefined
}

/** Returns the form used to look up a user. The string need not be a valid address. */
export const foldEmail = (text: string): string => text.trim().toLowerCase()
