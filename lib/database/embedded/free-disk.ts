/** The size and free space of an embedded database's disk. */
import { statfs } from 'node:fs/promises'

export interface Disk {
  /** Number of bytes that this user can still write. */
  readonly freeBytes: number
  readonly totalBytes: number
}

/**
 * Free space, in bytes, below which the disk may fill up before the next check. The write-ahead log alone may take 512
 * MB (cluster-settings.ts).
 */
export const LITTLE_DISK_BYTES = 2 * 1024 ** 3

/**
 * Reads the free space. Returns undefined if the space cannot be determined, for example because the folder does not
 * exist.
 */
export async function readDisk(folder: string): Promise<Disk | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch {
    return undefined
  }
}
