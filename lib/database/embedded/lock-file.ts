/**
 * A lock between processes. It is a file that names the process that holds the lock. The file also says when that
 * process began, because process ids are used again, and which folder it is in, because folders are copied. A file that
 * a killed process left behind is recognised and replaced.
 */
import { randomUUID } from 'node:crypto'
import { link, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigError } from '../../config.ts'
import { readOwnFile } from './own-file.ts'
import { isAlive, readBirth } from './process-identity.ts'

/** Gives a lock back. */
export type Release = () => Promise<void>

/** Takes the lock. Resolves to a function that gives it back, or to the id of the living process that holds it. */
export async function tryLock(path: string): Promise<Release | number> {
  const draft = `${path}-${randomUUID()}`
  await writeFile(draft, `${process.pid}\n${readBirth(process.pid) ?? ''}\n${await folderOf(path)}\n`, {
    mode: 0o600,
    flag: 'wx'
  })
  try {
    while (!(await linkUnlessTaken(draft, path))) {
      const holder = (await readLock(path)) ?? (await setAside(path))
      if (holder !== undefined) return holder
    }
    return () => rm(path, { force: true })
  } finally {
    await rm(draft, { force: true })
  }
}

/**
 * The id of the living process that holds the lock; undefined if there is none. A link or a stranger's file is no
 * lock.
 */
export async function readLock(path: string): Promise<number | undefined> {
  const text = await readOwnFile(path).catch(error => {
    if (error instanceof ConfigError) return undefined
    throw error
  })
  const [digits, birth, folder] = (text ?? '').split('\n')
  const pid = Number(digits || Number.NaN)
  if (!isAlive(pid) || (readBirth(pid) ?? '') !== birth) return undefined
  // An earlier version did not write the folder.
  return folder === '' || folder === (await folderOf(path)) ? pid : undefined
}

/** Identifies the folder of this file, so that a copy of the folder is recognised. */
async function folderOf(path: string): Promise<string> {
  const { dev, ino } = await stat(dirname(path))
  return `${dev}:${ino}`
}

/** Makes the file by a link, so that it never exists without its text. False if it exists already. */
async function linkUnlessTaken(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes a left-over file. Two processes may both have found it left over, and the slower one might remove the file
 * that the faster has put in its place. So the file is moved first, read again, and put back if a living process holds
 * the lock.
 */
async function setAside(path: string): Promise<number | undefined> {
  const aside = `${path}-${randomUUID()}`
  try {
    await rename(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const holder = await readLock(aside)
  if (holder === undefined) await rm(aside)
  else await rename(aside, path)
  return holder
}
