/** Secrets, which are made once and kept in the data folder, readable by their owner only. */
import { randomBytes, randomUUID } from 'node:crypto'
import { link, rm } from 'node:fs/promises'
import type { Logger } from '../../log.ts'
import { createFile, openOwnFile, readOwnFile } from './own-file.ts'

const SECRET_BYTES = 32
const OWNER_ONLY = 0o600
const OTHERS = 0o077

/**
 * Reads the secret in the file `path`, and makes the file if there is none. A secret has 43 characters, all of them
 * safe in an address. If others may read the file (a copy, a restored backup), it is made private again. If that
 * fails, it is not used.
 */
export async function readOrCreateSecret(path: string, log: Logger): Promise<string> {
  const file = await openOwnFile(path)
  if (file === undefined) return createSecret(path)
  try {
    if (((await file.stat()).mode & OTHERS) !== 0) {
      await file.chmod(OWNER_ONLY)
      log.warn({ file: path }, 'others could read this secret; now its owner only can')
    }
    return (await file.readFile('utf8')).trim()
  } finally {
    await file.close()
  }
}

/**
 * Makes the file, which appears only when it is complete and on disk. If another process was faster, its file stays.
 */
async function createSecret(path: string): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const draft = `${path}-${randomUUID()}`
  const file = await createFile(draft)
  await file.writeFile(`${secret}\n`)
  await file.sync()
  await file.close()
  try {
    await link(draft, path)
    return secret
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return (await readOwnFile(path))!.trim()
  } finally {
    await rm(draft)
  }
}
