/** Merges metadata: shallow, with exact values, and the last writer wins. */
import { canonicalise, type Json, parseExact, stringifyExact } from './json/exact-json.ts'

export interface Merged {
  /** The whole merged object as JSON text; null for {}. */
  readonly text: string | null
  /** Whether any value differs from what was stored. The order of keys does not count. */
  readonly changed: boolean
}

const parseObject = (text: string | null): Record<string, Json> =>
  text === null ? {} : (parseExact(text) as Record<string, Json>)

/** Sets a key as JSON.parse would, also one named `__proto__`. */
export function setOwn<T>(object: Record<string, T>, key: string, value: T): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

/** Replaces in `stored` (JSON text; null is {}) every top-level key that `patch` names. */
export function mergeMetadata(stored: string | null, patch: string): Merged {
  const after = merge(stored, patch)
  return { text: textOf(after), changed: canonicalise(after) !== canonicalise(parseObject(stored)) }
}

/**
 * The merged object alone; `patch` is compact. Where nothing is stored it is the patch itself, unless a key may look
 * like an integer: JavaScript puts such a key first.
 */
export function mergedMetadata(stored: string | null, patch: string): string | null {
  if (stored === null && patch !== '{}' && !INTEGER_KEY.test(patch)) return patch
  return textOf(merge(stored, patch))
}

const INTEGER_KEY = /"\d+":/

function merge(stored: string | null, patch: string): Record<string, Json> {
  const object = parseObject(stored)
  for (const [key, value] of Object.entries(parseObject(patch))) setOwn(object, key, value)
  return object
}

function textOf(object: Record<string, Json>): string | null {
  const text = stringifyExact(object)
  return text === '{}' ? null : text
}
