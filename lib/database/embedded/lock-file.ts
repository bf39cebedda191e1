/**
 * A lock between processes: a file that names the process holding the lock. The file also records the process's start
 * time, because process ids are reused, and the folder's identity, because folders are copied. A file left behind by a
 * killed process is detected and replaced.
 */
import { randomUUID } from 'node:crypto'
import { link, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError } from '../../variables.ts'
import { onCode, readOwnFile } from './own-file.ts'
import { isAlive, readBirth } from './process-identity.ts'

export type Release = () => Promise<void>

/**
 * Takes the lock. Resolves to a function that releases the lock, or to the id of the live process that holds the lock.
 */
export async function tryLock(path: string): Promise<Release | number> {
  const draft = `${path}-${randomUUID()}`
  await writeFile(draft, `${process.pid}\n${readBirth(process.pid) ?? ''}\n${await folderOf(path)}\n`, {
    mode: 0o600,
    flag: 'wx'
  })
  try {
    // The file is created as a hard link, so that it never exists without content.
    while (!(await link(draft, path).then(() => true, onCode('EEXIST', false)))) {
      const holder = (await readLock(path)) ?? (await setAside(path))
      if (holder !== undefined) return holder
    }
    return () => rm(path, { force: true })
  } finally {
    await rm(draft, { force: true })
  }
}

/** Returns the id of the live process that holds the lock, if any. Ignores links and other users' files. */
export async function readLock(path: string): Promise<number | undefined> {
  const text = await readOwnFile(path).catch(error => {
    if (error instanceof ConfigError) return undefined
    throw error
  })
  const [digits, birth, folder] = (text ?? '').split('\n')
  const pid = Number(digits || Number.NaN)
  if (!isAlive(pid) || (readBirth(pid) ?? '') !== birth) return undefined
  // Earlier versions did not record the folder.
  return folder === '' || folder === (await folderOf(path)) ? pid : undefined
}

/** Identifies the file's folder, so that a copied folder is detected. */
async function folderOf(path: string): Promise<string> {
  const { dev, ino } = await stat(dirname(path))
  return `${dev}:${ino}`
}

/**
 * Removes a stale file. If two processes find the same stale file, the slower process could remove the faster process's
 * new file. The file is therefore moved aside, reread, and put back if a live process holds the lock.
 */
async function setAside(path: string): Promise<number | undefined> {
  const aside = `${path}-${randomUUID()}`
  if (!(await rename(path, aside).then(() => true, onCode('ENOENT', false)))) return undefined
  const holder = await readLock(aside)
  if (holder === undefined) await rm(aside)
  else await rename(aside, path)
  return holder
}

/** Lock file that allows only one server at a time to hold a data folder. */
const SERVER_FILE = 'spoor.pid'

/** Claims the folder for this process. Throws a ConfigError if a live server holds the folder. */
export async function holdFolder(dataDir: string): Promise<Release> {
  const outcome = await tryLock(join(dataDir, SERVER_FILE))
  if (typeof outcome !== 'number') return outcome
  throw new ConfigError(
    `DATA_DIR ${dataDir} is in use by the server with process id ${outcome}: stop that server, or use another DATA_DIR`
  )
}

/** Returns the process id of the live server that holds the folder; undefined if there is none. */
export function readHolder(dataDir: string): Promise<number | undefined> {
  return readLock(join(dataDir, SERVER_FILE))
}
