/** Secrets that are made once and kept in the data folder, readable by their owner only. */
import { randomBytes } from 'node:crypto'
import { link, open, readFile, rm } from 'node:fs/promises'

const SECRET_BYTES = 32

/** Reads the secret in the file `path`, which is made where there is none: 43 characters, safe in an address. */
export async function readOrCreateSecret(path: string): Promise<string> {
  return (await readIfAny(path)) ?? (await createSecret(path))
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
  const file = await open(draft, 'w', 0o600)
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
