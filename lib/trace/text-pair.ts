/** Packs two strings into one body, because a worker thread receives a body as a single byte array. */

/** Packs two strings: the byte length of the first, a line break, then both strings. */
export const textsOf = (one: string, other: string): Uint8Array =>
  Buffer.from(`${Buffer.byteLength(one)}\n${one}${other}`)

/** Like textsOf, but takes the second string as chunks of UTF-8 bytes. */
export const pairOf = (one: string, other: readonly Uint8Array[]): Uint8Array =>
  Buffer.concat([textsOf(one, ''), ...other])

/** Splits a body that `textsOf` or `pairOf` built. */
export function splitTexts(body: Uint8Array): [one: string, other: string] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const start = bytes.indexOf('\n') + 1
  const end = start + Number(bytes.toString('latin1', 0, start - 1))
  return [bytes.toString('utf8', start, end), bytes.toString('utf8', end)]
}
