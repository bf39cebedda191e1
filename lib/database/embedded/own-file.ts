/**
 * Lets a root process access data folder files safely, even if other users have planted files there. Does not follow
 * links, and accepts only files that belong to this user or the folder's owner. Secrets are created once, readable only
 * by their owner.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Logger } from '../../log.ts'
import { ConfigError } from '../../variables.ts'

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants
const OWNER_ONLY = 0o600

/** Returns a handler that turns an error with this code into `value`, and throws any other error. */
export const onCode =
  <T>(code: string, value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === code) return value
    throw error
  }

/** Creates a file that only its owner can read. Fails if a file or link with that name exists. */
export function createFile(path: string): Promise<FileHandle> {
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ONLY)
}

/** Replaces the file at the path with a file that contains `text`. The new file appears only when complete. */
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
 * Opens a file. Returns undefined if the file does not exist. Throws a ConfigError if the path is not a regular file or
 * belongs to another user.
 */
export async function openOwnFile(path: string): Promise<FileHandle | undefined> {
  // Without O_NONBLOCK, opening a pipe that has no writer would block forever.
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

/** Reads a file with the checks of openOwnFile. */
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
    `${path} must be a file, not a link, that belongs to this user or to the owner of DATA_DIR: replace it`
  )

const SECRET_BYTES = 32
const OTHERS = 0o077

/**
 * Reads the secret in the file `path`, or creates a secret if the file does not exist. A secret is 43 URL-safe
 * characters. If other users can read the file (for example, after a restore), makes the file private again, and throws
 * if that fails.
 */
export async function readOrCreateSecret(path: string, log: Logger): Promise<string> {
  const file = await openOwnFile(path)
  if (file === undefined) return createSecret(path)
  try {
    if (((await file.stat()).mode & OTHERS) !== 0) {
      await file.chmod(OWNER_ONLY)
      log.warn({ file: path }, 'others could read this secret; now only its owner can')
    }
    return (await file.readFile('utf8')).trim()
  } finally {
    await file.close()
  }
}

/**
 * Creates the file, which appears only when complete and on disk. If another process creates the file first, keeps that
 * file.
 */
async function createSecret(path: string): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const draft = `${path}-${randomUUID()}`
  const file = await createFile(draft)
  await file.writeFile(`${secret}\n`)
  await file.sync()
  await file.close()
  const linked = link(draft, path).then(() => true, onCode('EEXIST', false))
  const isNew = await linked.finally(() => rm(draft))
  return isNew ? secret : (await readOwnFile(path))!.trim()
}
