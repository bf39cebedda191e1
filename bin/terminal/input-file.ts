/** Opens files that commands read. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { AdminError } from '../../lib/admin-error.ts'

/** Opens the file, or stdin for `-`, and returns its length if known. */
export async function openSource(file: string): Promise<{ stream: Readable; length: number | undefined }> {
  if (file === '-') return { stream: process.stdin, length: undefined }
  try {
    const found = await stat(file)
    if (found.isDirectory()) throw new Error('it is a folder')
    const stream = createReadStream(file, { highWaterMark: 1024 * 1024 })
    return { stream, length: found.isFile() ? found.size : undefined }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new AdminError(`cannot read ${file}: ${code === 'ENOENT' ? 'there is no such file' : message}`)
  }
}
