/** Writing JSON by hand, where columns already hold it or are known to need no escaping. */

/** Any text, or null. */
export const text = (value: string | null): string => (value === null ? 'null' : JSON.stringify(value))

/** Ids, times and words of ours: texts in which nothing needs escaping. */
export const plain = (value: string | null): string => (value === null ? 'null' : `"${value}"`)

/** What a json column holds goes out as it is; `absent` is what null stands for there. */
export const raw = (value: string | null, absent: 'null' | '{}' | '[]'): string => value ?? absent

/** Added up, not joined, so that the text is copied only once: 1.0 instead of 1.5 ms for 200 spans of 2 kB (Node 20). */
export function list(items: readonly string[]): string {
  let members = ''
  for (const item of items) members += members === '' ? item : `,${item}`
  return `[${members}]`
}

/** A text for each of a list's elements. */
export type Texts<T> = { -readonly [i in keyof T]: string }
