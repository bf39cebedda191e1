/** Packs two texts into one body, because a worker thread is given a body of bytes. */

/** The two texts as one body: the byte length of the first, a line break, and both texts. */
export const textsOf = (one: string, other: string): Uint8Array =>
  Buffer.from(`${Buffer.byteLength(one)}\n${one}${other}`)

/** The same of a text in pieces of UTF-8. */
export const pairOf = (one: string, other: readonly Uint8Array[]): Uint8Array =>
  Buffer.concat([textsOf(one, ''), ...other])

/** The two texts of a body that `textsOf` made. */
export function splitTexts(body: Uint8Array): [one: string, other: string] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const start = bytes.indexOf('\n') + 1
  const end = start + Number(bytes.toString('latin1', 0, start - 1))
  return [bytes.toString('utf8', start, end), bytes.toString('utf8', end)]
}
