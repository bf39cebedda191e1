/** Matches a JSON escape: a surrogate pair, an unpaired surrogate, or a backslash with the character it escapes. */
const ESCAPES = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/g

/**
 * Replaces unpaired surrogates, because strict parsers reject these characters although JSON allows them. For example,
 * Python clients would reject the whole response. In JSON, unpaired surrogates are always escaped.
 */
export function wellFormed(json: string, replacement = '\ufffd'): string {
  if (!/\\u[dD][89a-fA-F]/.test(json)) return json
  return json.replace(ESCAPES, (whole, half?: string) => (half === undefined ? whole : replacement))
}

/** Replaces unpaired surrogates in UTF-8 JSON, which must not end within a string. */
export function wellFormedBytes(json: Uint8Array): Uint8Array {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
  if (!bytes.includes('\\u')) return json
  const text = bytes.toString('latin1')
  const formed = wellFormed(text, REPLACEMENT_BYTES)
  return formed === text ? json : Buffer.from(formed, 'latin1')
}

/** U+FFFD in UTF-8, one character per byte. */
const REPLACEMENT_BYTES = Buffer.from('\ufffd').toString('latin1')
