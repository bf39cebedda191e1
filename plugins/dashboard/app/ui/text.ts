/** Displays text with hidden characters visible, because traces contain arbitrary text from users and models. */

/** Invisible characters that affect how a line is read: bidi, zero-width and other control characters. */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/
const HIDDEN_ALL = new RegExp(HIDDEN, 'g')

export function hasHidden(text: string): boolean {
  return HIDDEN.test(text) || !text.isWellFormed()
}

/** Part of a text. A hidden character is a separate piece, with the character's name as text. */
export interface Piece {
  readonly text: string
  readonly hidden: boolean
}

/** Splits text at hidden characters and unpaired surrogates, which are replaced by names such as `U+202E`. */
export function showHidden(text: string): Piece[] {
  if (!hasHidden(text)) return [{ text, hidden: false }]
  const pieces: Piece[] = []
  let plain = 0
  const add = (from: number, to: number) => {
    if (from > plain) pieces.push({ text: text.slice(plain, from), hidden: false })
    pieces.push({ text: `U+${text.charCodeAt(from).toString(16).toUpperCase().padStart(4, '0')}`, hidden: true })
    plain = to
  }
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0xd800 && code <= 0xdfff) {
      const paired = code < 0xdc00 && isLow(text.charCodeAt(i + 1))
      if (paired) i++
      else add(i, i + 1)
    } else if (isHidden(code)) add(i, i + 1)
  }
  if (plain < text.length) pieces.push({ text: text.slice(plain), hidden: false })
  return pieces
}

const isLow = (code: number) => code >= 0xdc00 && code <= 0xdfff

/** Returns whether HIDDEN matches the character. The range check avoids the regular expression for most characters. */
function isHidden(code: number): boolean {
  if (code >= 0x20 && code < 0x7f) return false
  return HIDDEN.test(String.fromCharCode(code))
}

/** Formats text as one line: hidden characters by name, whitespace collapsed. */
export function asLine(text: string, most = 200): string {
  const short = text.length > most * 4 ? text.slice(0, most * 4) : text
  const line = short
    .replace(/\s+/g, ' ')
    .trim()
    .replace(HIDDEN_ALL, each => `[U+${each.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`)
    .toWellFormed()
  return line.length > most || short.length < text.length ? `${cut(line, most)}…` : line
}

/** Returns the start of a text, without splitting a surrogate pair. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const code = text.charCodeAt(length - 1)
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? length - 1 : length)
}

/** Returns the number of UTF-8 bytes in a string, without encoding it. */
export function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x80) continue
    if (code < 0x800) bytes += 1
    else if (code >= 0xd800 && code <= 0xdbff && isLow(text.charCodeAt(i + 1))) {
      bytes += 2
      i++
    } else bytes += 2
  }
  return bytes
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
/** Minimum length of base64 that is hidden from view. */
const MIN_BASE64 = 1024

/** Returns whether a string is a long base64 value, which is unreadable. */
export function isBase64(text: string): boolean {
  if (text.length < MIN_BASE64) return false
  if (!BASE64.test(text.slice(0, 256)) || !BASE64.test(text.slice(-256))) return false
  // Letters alone, such as 'aaaa…', are ordinary text.
  return /\d/.test(text.slice(0, 256)) && /[A-Z]/.test(text.slice(0, 256)) && BASE64.test(text)
}
