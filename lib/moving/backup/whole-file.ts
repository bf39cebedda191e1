/**
 * Compresses backups with Brotli at its lowest quality, which takes a third of gzip's CPU time and no more space
 * (test/bench/RESULTS.md, "Backups"). Also reads uncompressed and gzipped backups. A file appears only when it is
 * complete and on disk: readers find either the new or the previous file.
 */
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createBrotliCompress, createBrotliDecompress } from 'node:zlib'
import { AdminError } from '../../admin-error.ts'
import { peeked, UnpackError, unpacked } from '../gunzip.ts'
import { sealed } from './seal.ts'

const CHUNK_BYTES = 256 * 1024
const OPEN_BRACE = 0x7b
const GZIP = 0x1f
/**
 * Programs that encrypt backups in a pipe, with the bytes that begin their output. Brotli at our settings begins with
 * a byte whose low half is 0xb.
 */
const ENCRYPTED = [
  { by: 'age', decrypt: 'age --decrypt -i KEY', marks: ['age-encryption.org/', '-----BEGIN AGE '] },
  { by: 'GnuPG', decrypt: 'gpg --decrypt', marks: ['-----BEGIN PGP ', '\x84', '\x85', '\x8c', '\xc1', '\xc3'] }
].map(({ marks, ...program }) => ({ ...program, marks: marks.map(mark => Buffer.from(mark, 'latin1')) }))
const LONGEST_MARK = Math.max(...ENCRYPTED.flatMap(({ marks }) => marks.map(({ length }) => length)))
/** File mode for backups, which contain digests of keys and passwords. */
const OWNER_ONLY = 0o600
const PACKING = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_LGWIN]: 22 },
  chunkSize: CHUNK_BYTES,
  /** Number of bytes that may wait to be compressed. */
  writableHighWaterMark: 8 * 1024 * 1024
}

/** Compresses a backup into a file. Until the file is complete, `.partial` is appended to its name. */
export async function writeWholeFile(file: string, bytes: AsyncIterable<Buffer>, signal?: AbortSignal): Promise<void> {
  const partial = `${file}.partial`
  // A file left over from an earlier run may have a different mode.
  await rm(partial, { force: true })
  const handle = await open(partial, 'wx', OWNER_ONLY).catch(error => {
    throw new AdminError(
      `cannot write ${partial}: ${error.code === 'ENOENT' ? 'there is no such folder' : error.message}`
    )
  })
  try {
    await streamPacked(bytes, chunk => handle.appendFile(chunk), signal)
    await handle.sync()
    await handle.close()
    await rename(partial, file)
    await syncFolder(dirname(file))
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(partial, { force: true })
    throw error
  }
}

export async function streamPacked(
  bytes: AsyncIterable<Buffer>,
  write: (bytes: Buffer) => Promise<void>,
  signal?: AbortSignal
): Promise<void> {
  const writeAll = async (packed: AsyncIterable<Buffer>) => {
    for await (const chunk of sealed(packed)) await write(chunk)
  }
  const packing = createBrotliCompress(PACKING)
  async function* flushed(): AsyncGenerator<Buffer> {
    yield* bytes
    // The seal belongs behind all content.
    await new Promise<void>(resolve => packing.flush(() => resolve()))
  }
  await pipeline(flushed(), packing, writeAll, { ...(signal && { signal }) })
}

/** Makes a file's name as durable as its contents. Not all systems can sync a folder. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}

/** Waits for the first bytes, which `whole` yields again. Throws an AdminError if the backup is empty or encrypted. */
export async function beginBackup(source: AsyncIterable<Uint8Array>) {
  const { first, head, whole } = await peeked(source, LONGEST_MARK)
  if (first === undefined) {
    throw new AdminError('the backup is empty: if another program decrypts it, check its stderr')
  }
  const found = ENCRYPTED.find(({ marks }) => marks.some(mark => mark.equals(head.subarray(0, mark.length))))
  if (found !== undefined) {
    const pipe = `${found.decrypt} FILE | spoor restore -`
    throw new AdminError(`the backup is encrypted with ${found.by}: decrypt it in a pipe, such as \`${pipe}\``)
  }
  return { first, whole }
}

/** Yields a backup's decompressed bytes. Throws an UnpackError if decompression fails. */
export async function* unpackedBackup(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const { first, whole } = await beginBackup(source)
  if (first === OPEN_BRACE || first === GZIP) yield* unpacked(whole)
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
