/**
 * Seals compressed backups. A seal is a metadata block at the end of the Brotli stream, which decompressors skip. It
 * holds the SHA-256 of all compressed bytes before it. Checking a seal shows that a file is complete and unchanged
 * before anything is restored, and takes a tenth of the time of unpacking the file (test/bench/RESULTS.md, "Restores").
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'

/** The empty block that ends a Brotli stream. */
const LAST_BLOCK = Buffer.from([0x03])
const MARK = Buffer.from('spoor sha256')
const DIGEST_BYTES = 32
/** RFC 7932, section 9.2: not the last block, metadata, one byte of length, and the length less 1. */
const HEAD = Buffer.alloc(2)
HEAD.writeUInt16LE(0b01_0_11_0 | ((MARK.length + DIGEST_BYTES - 1) << 6))
const START = Buffer.concat([HEAD, MARK])
const SEAL_BYTES = START.length + DIGEST_BYTES + LAST_BLOCK.length
const READ_BYTES = 1024 * 1024

/**
 * Yields a Brotli stream with a seal. The stream must have been flushed after its last content, so that its last block
 * is empty.
 */
export async function* sealed(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256')
  let last: Buffer | undefined
  for await (const chunk of stream) {
    if (last !== undefined) {
      hash.update(last)
      yield last
    }
    last = chunk
  }
  if (last === undefined) return
  if (last.equals(LAST_BLOCK)) yield Buffer.concat([START, hash.digest()])
  yield last
}

/** Whether a file has a seal, and the seal is that of its contents. `onRead` is called with the bytes read so far. */
export async function hasValidSeal(file: string, onRead: (bytes: number, of: number) => void): Promise<boolean> {
  const handle = await open(file).catch(() => undefined)
  if (handle === undefined) return false
  try {
    const found = await handle.stat()
    const length = found.size - SEAL_BYTES
    if (!found.isFile() || length <= 0) return false
    const seal = await readAt(handle, length, Buffer.alloc(SEAL_BYTES))
    if (!seal.subarray(0, START.length).equals(START) || !seal.subarray(-LAST_BLOCK.length).equals(LAST_BLOCK)) {
      return false
    }
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    for (let at = 0; at < length; ) {
      const chunk = await readAt(handle, at, buffer.subarray(0, Math.min(buffer.length, length - at)))
      if (chunk.length === 0) return false
      hash.update(chunk)
      at += chunk.length
      onRead(at, length)
    }
    return hash.digest().equals(seal.subarray(START.length, START.length + DIGEST_BYTES))
  } finally {
    await handle.close()
  }
}

async function readAt(handle: FileHandle, position: number, into: Buffer): Promise<Buffer> {
  const { bytesRead } = await handle.read({ buffer: into, position })
  return into.subarray(0, bytesRead)
}
