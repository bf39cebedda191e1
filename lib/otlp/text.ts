/** Makes strings storable in PostgreSQL by limiting length and replacing U+0000 and unpaired surrogates. */
import { LosslessNumber } from 'lossless-json'
import { type Json, plainNumber } from '../trace/json/exact-json.ts'

const REPLACEMENT = '\ufffd'

/** Replaces U+0000 and unpaired surrogates with U+FFFD, so that readers can see where a character is missing. */
export function replaceNul(text: string): string {
  return text.includes('\u0000') ? text.replaceAll('\u0000', REPLACEMENT).toWellFormed() : text.toWellFormed()
}

/** Returns the first `length` characters (code points). */
export function cutAttribute(text: string, length: number): string {
  if (text.length <= length) return text
  return [...text.slice(0, 2 * length)].slice(0, length).join('')
}

/**
 * Returns a string, number or boolean as a string of 1 to `length` characters that a text column can store; undefined
 * for other values. Ids, names, models, providers and tags all follow this rule.
 */
export function textOfAttribute(value: Json, length: number): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : cutAttribute(replaceNul(value), length)
  const plain = plainNumber(value)
  if (plain instanceof LosslessNumber) return cutAttribute(plain.value, length)
  return typeof plain === 'number' || typeof plain === 'boolean' ? cutAttribute(String(plain), length) : undefined
}

/** Returns the size of a string as JSON in UTF-8, in bytes. */
export const byteLength = (text: string): number => Buffer.byteLength(JSON.stringify(text))

/** Returns the longest prefix that takes at most `bytes` bytes as JSON in UTF-8, without splitting a character. */
export function prefixWithin(text: string, bytes: number): string {
  let fits = 0
  // A UTF-16 code unit takes at least one byte in UTF-8, so at most `bytes` code units fit.
  let past = Math.min(text.length, Math.max(bytes, 0)) + 1
  while (past - fits > 1) {
    const middle = (fits + past) >> 1
    if (byteLength(text.slice(0, middle)) <= bytes) fits = middle
    else past = middle
  }
  const last = text.charCodeAt(fits - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 && fits < text.length ? fits - 1 : fits)
}
