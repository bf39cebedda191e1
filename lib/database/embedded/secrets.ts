/** Secrets that are created once and stored in the data folder, readable only by their owner. */
import { randomBytes, randomUUID } from 'node:crypto'
import { link, rm } from 'node:fs/promises'
import type { Logger } from '../../log.ts'
import { createFile, onCode, openOwnFile, readOwnFile } from './own-file.ts'

const SECRET_BYTES = 32
const OWNER_ONLY = 0o600
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
      log.warn({ file: path }, 'others could read this secret; now its owner only can')
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
