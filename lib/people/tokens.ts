/**
 * Creates tokens for session cookies and for sign-in links. A token has 256 random bits, which nobody can guess, so
 * storing a plain SHA-256 digest is safe.
 */
import { hash, randomBytes } from 'node:crypto'

const TOKEN = /^[\w-]{43}$/

/** Returns a new token: 43 characters, none of which needs escaping in a URL or a cookie. */
export const makeToken = (): string => randomBytes(32).toString('base64url')

/** Returns a token's stored form in hexadecimal digits; undefined if the string is not a well-formed token. */
export function digestToken(token: string): string | undefined {
  return TOKEN.test(token) ? hash('sha256', token, 'hex') : undefined
}
