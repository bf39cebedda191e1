/** Escapes of a JSON text: a surrogate pair, half of one, or any other; a backslash is taken with what it escapes. */
const ESCAPES = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/g

/**
 * JSON text with U+FFFD for every unpaired surrogate, which JSON allows and strict parsers do not: Python's clients would
 * fail on the whole answer. In JSON such a half is always escaped.
 */
export function wellFormed(json: string): string {
  if (!/\\u[dD][89a-fA-F]/.test(json)) return json
  return json.replace(ESCAPES, (whole, half?: string) => (half === undefined ? whole : '\ufffd'))
}
