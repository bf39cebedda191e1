/** Files that may be gzipped: unpacked where their first two bytes say so, whatever they are called. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** The rest of a gzipped file cannot be unpacked: it is cut off, or not whole. */
export class UnpackError extends Error {
  override readonly name = 'UnpackError'
}

const MAGIC = Buffer.from([0x1f, 0x8b])

/**
 * Yields the bytes of a source, and unpacks them if they are gzip. Throws an UnpackError if the gzip data ends too
 * early.
 */
export async function* unpacked(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const { head, whole } = await peeked(source, MAGIC.length)
  yield* MAGIC.equals(head.subarray(0, MAGIC.length)) ? gunzip(whole) : whole
}

/** Looks at the first bytes of a source. `whole` yields them again, and the others. */
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
  // Errors of the source appear in `unpacking`, and its reader gets them.
  pipeline(Readable.from(source, { objectMode: false }), unpacking).catch(() => {})
  try {
    for await (const chunk of unpacking) yield chunk
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code?.startsWith('Z_') ? new UnpackError(`the gzip of the file cannot be unpacked: ${message}`) : error
  }
}
