/**
 * Makes texts fit for columns: not too long, and without U+0000 and unpaired surrogates, which PostgreSQL cannot
 * store.
 */
import { type Json, plainNumber } from '../trace/json/exact-json.ts'

const REPLACEMENT = '\ufffd'

/** U+FFFD in place of U+0000 and of unpaired surrogates, so that a reader sees that something stood there. */
export function replaceNul(text: string): string {
  return text.includes('\u0000') ? text.replaceAll('\u0000', REPLACEMENT).toWellFormed() : text.toWellFormed()
}

/** The first `length` characters (code points). */
export function cutAttribute(text: string, length: number): string {
  if (text.length <= length) return text
  return [...text.slice(0, 2 * length)].slice(0, length).join('')
}

/** The value as a text of 1 to `length` characters; undefined if it is no text, or would have to be changed. */
export function shortAttribute(value: Json, length: number): string | undefined {
  const plain = plainNumber(value)
  if (typeof plain === 'number') return String(plain)
  if (typeof value !== 'string' || value === '') return undefined
  return cutAttribute(value, length) === value && replaceNul(value) === value ? value : undefined
}

/** The bytes of a text as JSON in UTF-8. */
export const byteLength = (text: string): number => Buffer.byteLength(JSON.stringify(text))

/** The longest beginning of a text that takes at most `bytes` bytes as JSON in UTF-8. No character is cut in two. */
export function prefixWithin(text: string, bytes: number): string {
  let fits = 0
  // A UTF-16 unit takes at least one byte.
  let past = Math.min(text.length, Math.max(bytes, 0)) + 1
  while (past - fits > 1) {
    const middle = (fits + past) >> 1
    if (byteLength(text.slice(0, middle)) <= bytes) fits = middle
    else past = middle
  }
  const last = text.charCodeAt(fits - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 && fits < text.length ? fits - 1 : fits)
}
