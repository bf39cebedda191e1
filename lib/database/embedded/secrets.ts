/** Secrets that are made once and kept in the data folder, readable by their owner only. */
import { randomBytes } from 'node:crypto'
import { chmod, link, open, readFile, rm, stat } from 'node:fs/promises'
import type { Logger } from '../../log.ts'

const SECRET_BYTES = 32
const OWNER_ONLY = 0o600
const OTHERS = 0o077

/**
 * Reads the secret in the file `path`, which is made where there is none: 43 characters, safe in an address. A file that
 * others may read (a copy, a restored backup) is made its owner's again; where that cannot be, it is not used.
 */
export async function readOrCreateSecret(path: string, log: Logger): Promise<string> {
  const secret = await readIfAny(path)
  if (secret === undefined) return createSecret(path)
  if (((await stat(path)).mode & OTHERS) !== 0) {
    await chmod(path, OWNER_ONLY)
    log.warn({ file: path }, 'others could read this secret; now its owner only can')
  }
  return secret
}

async function readIfAny(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text?.trim()
}

/** The file appears when it is whole and safe on the disk; where another process was faster, theirs stays. */
async function createSecret(path: string): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const draft = `${path}-${process.pid}`
  const file = await open(draft, 'w', OWNER_ONLY)
  await file.writeFile(`${secret}\n`)
  await file.sync()
  await file.close()
  try {
    await link(draft, path)
    return secret
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return (await readIfAny(path))!
  } finally {
    await rm(draft)
  }
}
