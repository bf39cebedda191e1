/**
 * Compresses backups with Brotli at its lowest quality, which takes a third of gzip's CPU time and no more space
 * (test/bench/RESULTS.md, "Backups"). Also reads uncompressed and gzipped backups.
 */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type BrotliCompress, constants, createBrotliCompress, createBrotliDecompress } from 'node:zlib'
import { peeked, UnpackError, unpacked } from '../gunzip.ts'

const PARAMS = { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_LGWIN]: 22 }
const CHUNK_BYTES = 256 * 1024
const OPEN_BRACE = 0x7b
const GZIP = 0x1f

export const packBackup = (): BrotliCompress => createBrotliCompress({ params: PARAMS, chunkSize: CHUNK_BYTES })

/** Yields a backup's decompressed bytes. Throws an UnpackError if decompression fails. */
export async function* unpackedBackup(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const { first, whole } = await peeked(source)
  if (first === undefined || first === OPEN_BRACE || first === GZIP) yield* unpacked(whole)
  else yield* decompress(whole)
}

async function* decompress(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unpacking = createBrotliDecompress({ chunkSize: CHUNK_BYTES })
  // Errors from the source are passed on to `unpacking`, so that its reader receives them.
  pipeline(Readable.from(source, { objectMode: false }), unpacking).catch(() => {})
  try {
    for await (const chunk of unpacking) yield chunk
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isPacking = code?.startsWith('Z_') || code?.startsWith('ERR_') || code?.startsWith('ERR__')
    throw isPacking ? new UnpackError(`it cannot be unpacked: ${message}`) : error
  }
}
