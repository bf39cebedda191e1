/**
 * Which server holds a data folder: the file spoor.pid in it names the process, and when that began, since ids are used
 * again. A file that a killed server left behind is recognised and replaced.
 */
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../config.ts'
import { isAlive, readBirth } from './process-identity.ts'

/** Takes the folder for this process, or refuses where a living server holds it. */
export async function holdFolder(dataDir: string): Promise<void> {
  const path = fileIn(dataDir)
  const draft = `${path}-${process.pid}`
  await writeFile(draft, `${process.pid}\n${readBirth(process.pid) ?? ''}\n`, { mode: 0o600 })
  try {
    while (!(await linkUnlessTaken(draft, path))) {
      const holder = await readHolder(dataDir)
      if (holder !== undefined) throw heldBy(dataDir, holder)
      await setAside(path, dataDir)
    }
  } finally {
    await rm(draft, { force: true })
  }
}

/** Gives the folder back, if this process holds it. */
export async function releaseFolder(dataDir: string): Promise<void> {
  if ((await readHolder(dataDir)) === process.pid) await rm(fileIn(dataDir), { force: true })
}

/** The process id of the living server that holds the folder. */
export function readHolder(dataDir: string): Promise<number | undefined> {
  return readLiving(fileIn(dataDir))
}

/** The process that the file names, if it is still that process; undefined also where there is no file. */
async function readLiving(path: string): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const [digits, birth] = text.split('\n')
  const pid = Number(digits || Number.NaN)
  return isAlive(pid) && (readBirth(pid) ?? '') === birth ? pid : undefined
}

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
 * Takes a left-over file away. Two servers may both have found it left over, and the slower one would take away what the
 * faster has put in its place: so it is moved first, looked at again, and put back if it turns out to be of the living.
 */
async function setAside(path: string, dataDir: string): Promise<void> {
  const aside = `${path}-${process.pid}-old`
  await rename(path, aside).catch(() => {})
  const holder = await readLiving(aside)
  if (holder !== undefined) {
    await rename(aside, path)
    throw heldBy(dataDir, holder)
  }
  await rm(aside, { force: true })
}

function heldBy(dataDir: string, pid: number): ConfigError {
  return new ConfigError(`DATA_DIR ${dataDir} is held by the server with process id ${pid}: stop that, or use another`)
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'spoor.pid')
}
