/** A file that appears only when it is complete and on disk; whoever reads it later finds all of it, or the one before. */
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AdminError } from '../../admin-error.ts'
import { packBackup } from './packing.ts'

/** A backup has digests of keys and of passwords. */
const OWNER_ONLY = 0o600
/** How much of what is made waits to be compressed. */
const WAITING_BYTES = 8 * 1024 * 1024

/** Compresses a backup into a file. It is written beside it, under a name that ends in `.partial`. */
export async function writeWholeFile(file: string, bytes: AsyncIterable<Buffer>, signal?: AbortSignal): Promise<void> {
  const partial = `${file}.partial`
  // A leftover may have another mode.
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

/** Compresses a backup, and hands on what comes out. */
export async function streamPacked(
  bytes: AsyncIterable<Buffer>,
  write: (bytes: Buffer) => Promise<void>,
  signal?: AbortSignal
): Promise<void> {
  const writeAll = async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) await write(chunk)
  }
  const source = Readable.from(bytes, { objectMode: false, highWaterMark: WAITING_BYTES })
  await pipeline(source, packBackup(), writeAll, { ...(signal && { signal }) })
}

/** Makes the name of a file as lasting as the file. Not all systems let a folder be synchronised. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
