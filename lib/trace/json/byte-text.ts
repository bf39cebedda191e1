/**
 * Byte texts: strings whose characters are the bytes of a text in UTF-8, one character per byte. V8 stores such a
 * string in one byte per character, and Node converts it from and to bytes by copying. A text with a single character
 * beyond Latin-1 takes two bytes per character, and all work on it takes longer (test/bench/RESULTS.md, "Reading
 * bodies"). JSON is structured by ASCII characters only, so it can be read and written as a byte text. An ASCII text is
 * its own byte text.
 */
import { isAscii, isUtf8 } from 'node:buffer'

const BEYOND_ASCII = /[^\x00-\x7f]/

export interface ByteText {
  readonly text: string
  /** Whether the text differs from its byte text. */
  readonly isBeyondAscii: boolean
}

/** Returns a body as a byte text. Returns undefined if the bytes are not UTF-8, or begin with a byte-order mark. */
export function byteTextOf(bytes: Uint8Array): ByteText | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const isBeyondAscii = !isAscii(buffer)
  if (isBeyondAscii && (!isUtf8(buffer) || buffer[0] === 0xef)) return undefined
  return { text: buffer.toString('latin1'), isBeyondAscii }
}

export const toByteText = (text: string): string =>
  BEYOND_ASCII.test(text) ? Buffer.from(text).toString('latin1') : text

export const fromByteText = (text: string): string =>
  BEYOND_ASCII.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text

/**
 * The first byte whose order is not the order of UTF-16 code units, which RFC 8785 requires: characters from U+E000 on
 * sort below surrogate pairs in UTF-8, and above them in UTF-16.
 */
export const FIRST_UNORDERED_BYTE = 0xee
