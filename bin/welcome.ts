import { randomBytes } from 'node:crypto'
import type { FirstStart } from '../lib/admin/first-start.ts'

/**
 * The text that a person reads when the server has started: its address, the first key if one was made, and what to do
 * next.
 */
export function welcome(address: string, location: string, start: FirstStart, env: NodeJS.ProcessEnv): string {
  const lines = [`spoor is at ${address}`, `The data is in: ${location}`, '']
  if (start.obstacle !== undefined) {
    lines.push(`Not configured: ${start.obstacle}. Until then requests with a key are answered not_configured.`)
    return lines.join('\n')
  }
  if (start.key !== undefined) {
    lines.push(
      'This is the key of the project `default`. It is shown now and never again:',
      '',
      `  ${start.key}`,
      '',
      'Record a first trace:',
      '',
      ...firstTrace(address, start.key),
      ''
    )
  }
  lines.push(`Make another key: ${keyCommand(env)}`, 'Ready. Ctrl-C stops it.')
  return lines.join('\n')
}

/** Commands that can be pasted as they are, because this JSON has no apostrophes. */
function firstTrace(address: string, key: string): string[] {
  const id = randomBytes(16).toString('hex')
  const now = Date.now()
  const at = (msAgo: number) => new Date(now - msAgo).toISOString()
  const span = {
    id: randomBytes(8).toString('hex'),
    name: 'greet',
    kind: 'llm',
    status: 'ok',
    startedAt: at(1200),
    endedAt: at(100),
    model: 'some-model',
    usage: { inputTokens: 12, outputTokens: 5 }
  }
  const trace = {
    id,
    name: 'first trace',
    status: 'ok',
    startedAt: at(1250),
    endedAt: at(50),
    input: 'Say hello',
    output: 'Hello!',
    spans: [span]
  }
  return [
    `  curl -sS ${address}/api/v1/traces -H 'Authorization: Bearer ${key}' \\`,
    `    -d '${JSON.stringify({ schemaVersion: 1, trace })}'`,
    '',
    'and read it back:',
    '',
    `  curl -sS ${address}/api/v1/traces/${id} -H 'Authorization: Bearer ${key}'`
  ]
}

/**
 * The command that makes a key. It has the server's variables, because it needs the same database; a password is left
 * out.
 */
function keyCommand(env: NodeJS.ProcessEnv): string {
  const create = 'npx spoor key create --project default'
  if (env.DATABASE_URL) return `${create} (with the same DATABASE_URL and KEY_DIGEST_SECRET)`
  return env.DATA_DIR ? `DATA_DIR='${env.DATA_DIR}' ${create}` : create
}
