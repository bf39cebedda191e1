/** Writes JSON by hand, because many columns already contain JSON or strings that need no escaping. */

/** Encodes any string, or null, as JSON. */
export const text = (value: string | null): string => (value === null ? 'null' : JSON.stringify(value))

/** Encodes null, or a string that needs no escaping (an id, a time or an internal keyword), as JSON. */
export const plain = (value: string | null): string => (value === null ? 'null' : `"${value}"`)

/** Returns the value of a json column unchanged, or `absent` for null. */
export const raw = (value: string | null, absent: 'null' | '{}' | '[]'): string => value ?? absent

/**
 * Renders a JSON array. Uses `+=`, which is faster than `join` because V8 copies the string only once
 * (test/bench/RESULTS.md, "JSON text").
 */
export function list(items: readonly string[]): string {
  let members = ''
  for (const item of items) members += members === '' ? item : `,${item}`
  return `[${members}]`
}

/** A tuple type with one string per element of the tuple T. */
export type AnswerTexts<T> = { -readonly [i in keyof T]: string }
