/** Two texts on their way to another thread, which takes bytes. */

/** Two texts as one body. */
export const textsOf = (one: string, other: string): Uint8Array =>
  Buffer.from(`${Buffer.byteLength(one)}\n${one}${other}`)

export function splitTexts(body: Uint8Array): [one: string, other: string] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const start = bytes.indexOf('\n') + 1
  const end = start + Number(bytes.toString('latin1', 0, start - 1))
  return [bytes.toString('utf8', start, end), bytes.toString('utf8', end)]
}
