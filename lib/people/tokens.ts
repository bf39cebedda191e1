/**
 * Tokens, which prove something by being known: the token of a session, in a cookie, and the token of a sign-in link.
 * They have 256 random bits, so a plain SHA-256 is enough to store: nobody can try that many.
 */
import { hash, randomBytes } from 'node:crypto'

const TOKEN = /^[\w-]{43}$/

/** A new token: 43 characters that need no escape in an address or a cookie. */
export const makeToken = (): string => randomBytes(32).toString('base64url')

/** The stored form of a token, as hexadecimal digits; undefined if the text does not have the form of one. */
export function digestToken(token: string): string | undefined {
  return TOKEN.test(token) ? hash('sha256', token, 'hex') : undefined
}
