/** Allows only one server at a time to hold a data folder. The folder's spoor.pid file names that server's process. */
import { join } from 'node:path'
import { ConfigError } from '../../variables.ts'
import { type Release, readLock, tryLock } from './lock-file.ts'

/** Claims the folder for this process. Throws a ConfigError if a live server holds the folder. */
export async function holdFolder(dataDir: string): Promise<Release> {
  const outcome = await tryLock(fileIn(dataDir))
  if (typeof outcome !== 'number') return outcome
  throw new ConfigError(
    `DATA_DIR ${dataDir} is held by the server with process id ${outcome}: stop that, or use another`
  )
}

/** Returns the process id of the live server that holds the folder; undefined if there is none. */
export function readHolder(dataDir: string): Promise<number | undefined> {
  return readLock(fileIn(dataDir))
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'spoor.pid')
}
