/** Opens the files that commands read, and prompts for lines of input. Secrets are not echoed on a terminal. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { type Readable, Writable } from 'node:stream'
import { AdminError } from '../../lib/admin-error.ts'

/** Opens the file, or stdin for `-`. Returns the stream and, if known, the file's length. */
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

export const readSecret = (prompt: string): Promise<string> => readLine(prompt, false)

export const readAnswer = (prompt: string): Promise<string> => readLine(prompt, true)

async function readLine(prompt: string, isShown: boolean): Promise<string> {
  const { stdin, stderr } = process
  const isTerminal = stdin.isTTY === true
  if (isTerminal) stderr.write(prompt)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: isShown ? stderr : nowhere, terminal: isTerminal })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
    if (isTerminal && !isShown) stderr.write('\n')
  }
}
