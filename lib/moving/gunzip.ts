/** Reads files that may be gzipped, as determined by the first two bytes rather than the file name. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** Thrown if the rest of a gzipped file cannot be decompressed because the file is truncated or corrupt. */
export class UnpackError extends Error {
  override readonly name = 'UnpackError'
}

const MAGIC = Buffer.from([0x1f, 0x8b])

/** Yields the source's bytes, decompressed if gzipped. Throws an UnpackError if the gzip data is damaged. */
export async function* unpacked(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const { head, whole } = await peeked(source, MAGIC.length)
  yield* MAGIC.equals(head.subarray(0, MAGIC.length)) ? gunzip(whole) : whole
}

/** Reads the first bytes of a source. The iterator `whole` yields the first bytes again, followed by the rest. */
export async function peeked(source: AsyncIterable<Uint8Array>, length = 1) {
  const chunks = source[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  while (head.length < length) {
    const { done, value } = await chunks.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  return { head, first: head[0], whole: joined(head, chunks) }
}

async function* joined(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (head.length > 0) yield head
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}

async function* gunzip(source: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unpacking = createGunzip()
  // Errors from the source are passed on to `unpacking`, so that its reader receives them.
  pipeline(Readable.from(source, { objectMode: false }), unpacking).catch(() => {})
  try {
    for await (const chunk of unpacking) yield chunk
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code?.startsWith('Z_') ? new UnpackError(`the gzipped file cannot be decompressed: ${message}`) : error
  }
}
