/** Prompts for a line and reads it from stdin. A terminal does not echo a secret. */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

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
