/** Writes JSON by hand. Many columns hold JSON already, or texts that need no escaping. */

/** Any text, or null, as JSON. */
export const text = (value: string | null): string => (value === null ? 'null' : JSON.stringify(value))

/** A text that needs no escaping, or null, as JSON: an id, a time, or one of our own words. */
export const plain = (value: string | null): string => (value === null ? 'null' : `"${value}"`)

/** The value of a json column goes out as it is; a null is written as `absent`. */
export const raw = (value: string | null, absent: 'null' | '{}' | '[]'): string => value ?? absent

/**
 * A JSON array. `+=` is faster than `join`, because V8 then copies the text only once (test/bench/RESULTS.md, "JSON
 * text").
 */
export function list(items: readonly string[]): string {
  let members = ''
  for (const item of items) members += members === '' ? item : `,${item}`
  return `[${members}]`
}

/** A tuple type with a text for each element of the tuple T. */
export type AnswerTexts<T> = { -readonly [i in keyof T]: string }
