/** Escapes of a JSON text: a surrogate pair, half of one, or any other; a backslash is taken with what it escapes. */
const ESCAPES = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/g

/**
 * JSON text with U+FFFD for every unpaired surrogate, which JSON allows and strict parsers do not: Python's clients
 * would fail on the whole answer. In JSON such a half is always escaped.
 */
export function wellFormed(json: string, replacement = '\ufffd'): string {
  if (!/\\u[dD][89a-fA-F]/.test(json)) return json
  return json.replace(ESCAPES, (whole, half?: string) => (half === undefined ? whole : replacement))
}

/** The same for bytes in UTF-8, which must not end within a string. */
export function wellFormedBytes(json: Uint8Array): Uint8Array {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
  if (!bytes.includes('\\u')) return json
  const text = bytes.toString('latin1')
  const formed = wellFormed(text, REPLACEMENT_BYTES)
  return formed === text ? json : Buffer.from(formed, 'latin1')
}

/** U+FFFD in UTF-8, each byte as a character. */
const REPLACEMENT_BYTES = Buffer.from('\ufffd').toString('latin1')
