import { randomBytes } from 'node:crypto'
import type { StartedAs } from './started-as.ts'

/** Details of a server start that the welcome text shows. */
export interface WelcomeStart {
  readonly key: string | null
  /** The fault that prevents the deployment from serving; null if there is none. */
  readonly obstacle: string | null
  /** The dashboard's URL; null if the dashboard is off. */
  readonly dashboard: string | null
  /** Whether `dashboard` is a one-time sign-in link. */
  readonly isLink: boolean
}

/**
 * Returns the text shown after a start: the server's address, the dashboard's URL, the first key if one was created,
 * and the next step.
 */
export function welcome(
  address: string,
  location: string,
  start: WelcomeStart,
  env: NodeJS.ProcessEnv,
  started: StartedAs
): string {
  const lines = [`spoor is at ${address}`, `Data: ${location}`, ...dashboardLines(start, env, started), '']
  if (start.obstacle !== null) {
    lines.push(`Not configured: ${start.obstacle}. Until this is fixed, requests with a key get not_configured.`)
    return lines.join('\n')
  }
  if (start.key !== null) {
    lines.push(
      'This is the key for the project `default`. It is shown only once:',
      '',
      `  ${start.key}`,
      '',
      'Record a first trace:',
      '',
      ...firstTrace(address, start.key),
      ''
    )
  }
  lines.push(
    `Create another key: ${spoorCommand('key create --project default', env, started)}`,
    'Ready. Ctrl-C stops it.'
  )
  return lines.join('\n')
}

function dashboardLines(
  { dashboard, isLink, obstacle }: WelcomeStart,
  env: NodeJS.ProcessEnv,
  started: StartedAs
): string[] {
  if (dashboard === null || obstacle !== null) return []
  const how = isLink
    ? 'can be used once, and expires after 15 minutes'
    : `sign in with a link: ${spoorCommand('user link EMAIL', env, started)}`
  return [`Dashboard: ${dashboard} (${how})`]
}

/** Returns shell commands that can be pasted unchanged, because their JSON contains no apostrophes. */
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

/** Returns a command for the same server, including the variables that select its database, without any password. */
function spoorCommand(args: string, env: NodeJS.ProcessEnv, started: StartedAs): string {
  const command = `${started.command} ${args}`
  if (started.hasEnvironment) return command
  if (env.DATABASE_URL) return `${command} (with the same DATABASE_URL and KEY_DIGEST_SECRET)`
  return env.DATA_DIR ? `DATA_DIR='${env.DATA_DIR}' ${command}` : command
}
