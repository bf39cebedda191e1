/** Merges metadata. The merge is shallow, keeps values exact, and lets the last writer win. */
import { canonicalise, type Json, parseExact, stringifyExact } from './json/exact-json.ts'

export interface Merged {
  /** The merged object as JSON text; null for {}. */
  readonly text: string | null
  /** Whether any value differs from the stored value. Key order does not count. */
  readonly changed: boolean
}

const parseObject = (text: string | null): Record<string, Json> =>
  text === null ? {} : (parseExact(text) as Record<string, Json>)

/** Sets a key the way JSON.parse does, even if it is `__proto__`. */
export function setOwn<T>(object: Record<string, T>, key: string, value: T): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

/**
 * For every top-level key in `patch`, sets that key of `stored` to the patch's value. `stored` is JSON text; null
 * represents {}.
 */
export function mergeMetadata(stored: string | null, patch: string): Merged {
  const after = merge(stored, patch)
  return { text: textOf(after), changed: canonicalise(after) !== canonicalise(parseObject(stored)) }
}

/**
 * Returns the merged object. `patch` must be compact JSON. If nothing is stored, returns the patch itself, unless it
 * may contain an integer-like key, which JavaScript moves to the front.
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

/**
 * Sets one key of the member `spoor`, which holds spoor's own notes about a trace; `undefined` removes the key. If a
 * client has set `spoor` to anything but an object, leaves that value unchanged.
 */
export function setMark(metadata: string | null, key: string, mark: Json | undefined): string | null {
  const all = metadata === null ? {} : (parseExact(metadata) as Record<string, Json>)
  const marks = Object.hasOwn(all, 'spoor') ? all.spoor : {}
  if (marks === null || typeof marks !== 'object' || Array.isArray(marks)) return metadata
  const { [key]: _, ...others } = marks as Record<string, Json>
  const set = mark === undefined ? others : { ...others, [key]: mark }
  const { spoor: __, ...rest } = all
  const text = stringifyExact(Object.keys(set).length === 0 ? rest : { ...rest, spoor: set })
  return text === '{}' ? null : text
}
