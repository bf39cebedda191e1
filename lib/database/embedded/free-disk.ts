/** The room on the disk of an embedded database. */
import { statfs } from 'node:fs/promises'

export interface Disk {
  /** The bytes that this user can still write. */
  readonly freeBytes: number
  readonly totalBytes: number
}

/**
 * With less than this free the disk may be full before somebody looks again: the log of PostgreSQL alone may take 512
 * MB.
 */
export const LITTLE_DISK_BYTES = 2 * 1024 ** 3

/** Undefined if it cannot be asked, as where the folder is not there. */
export async function readDisk(folder: string): Promise<Disk | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch {
    return undefined
  }
}
