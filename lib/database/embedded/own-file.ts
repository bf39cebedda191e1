/**
 * Files of the data folder, as a process may read and write them that is root, where others could have put something in
 * their place: no link is followed, and no file is believed that neither this user nor the folder's owner made.
 */
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError } from '../../config.ts'

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants
const OWNER_ONLY = 0o600

/** Makes a file that only its owner can read. Fails if there is a file or a link of that name. */
export function createFile(path: string): Promise<FileHandle> {
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ONLY)
}

/** Replaces whatever is at this path by a file with this text. The file appears only when it is complete. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}-${randomUUID()}`
  const file = await createFile(draft)
  try {
    await file.writeFile(text)
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

/**
 * Opens a file; undefined if there is none. Throws a ConfigError for a link, a folder or the like, and a stranger's
 * file.
 */
export async function openOwnFile(path: string): Promise<FileHandle | undefined> {
  // Without this flag, to open a pipe without a writer would wait forever.
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error.code === 'ELOOP' ? notOwn(path) : error
  })
  if (file === undefined) return undefined
  const stats = await file.stat()
  if (stats.isFile() && (await isTrusted(stats.uid, path))) return file
  await file.close()
  throw notOwn(path)
}

/** The text of such a file. */
export async function readOwnFile(path: string): Promise<string | undefined> {
  const file = await openOwnFile(path)
  try {
    return await file?.readFile('utf8')
  } finally {
    await file?.close()
  }
}

async function isTrusted(uid: number, path: string): Promise<boolean> {
  return uid === process.geteuid?.() || uid === (await stat(dirname(path))).uid
}

const notOwn = (path: string) =>
  new ConfigError(
    `${path} must be a file, no link, that belongs to this user or to the owner of DATA_DIR: put the right file there`
  )
