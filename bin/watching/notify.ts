/** Reports a fired or resolved alarm to a command or a webhook. Rejects if the report was not accepted. */
import { spawn } from 'node:child_process'
import type { AlarmChange } from './alarms.ts'

export interface Notice {
  readonly event: AlarmChange
  readonly condition: string
  readonly value: number | null
  /** A sentence for people. Chat services show the member `text` of a webhook. */
  readonly text: string
  readonly at: string
  /** When the breach was reported. */
  readonly since: string
}

export interface Receivers {
  /** A shell command. It gets the notice as JSON on stdin and in variables. */
  readonly exec?: string | undefined
  readonly webhook?: URL | undefined
}

const EXEC_MS = 60_000
const WEBHOOK_MS = 10_000

export async function notify(notice: Notice, { exec, webhook }: Receivers, env: NodeJS.ProcessEnv): Promise<void> {
  if (exec !== undefined) await runCommand(exec, notice, env)
  if (webhook !== undefined) await post(webhook, notice)
}

/** The values come from recorded data, so they are passed in variables and never become part of the command. */
async function runCommand(command: string, notice: Notice, env: NodeJS.ProcessEnv): Promise<void> {
  const { event, condition, value, text } = notice
  const variables = { EVENT: event, CONDITION: condition, VALUE: String(value ?? ''), TEXT: text }
  const own = Object.entries(variables).map(([name, value]) => [`SPOOR_WATCH_${name}`, value])
  const child = spawn('/bin/sh', ['-c', command], {
    env: { ...env, ...Object.fromEntries(own) },
    // The command's output would mix with this command's own.
    stdio: ['pipe', 'ignore', 'inherit'],
    timeout: EXEC_MS
  })
  // A command that does not read stdin may end before the notice is written.
  child.stdin.on('error', () => {})
  child.stdin.end(`${JSON.stringify(notice)}\n`)
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve([code, signal]))
  })
  if (code !== 0)
    throw new Error(
      code === null ? `the --exec command was terminated by ${signal}` : `the --exec command exited with code ${code}`
    )
}

async function post(url: URL, notice: Notice): Promise<void> {
  const body = JSON.stringify(notice)
  const headers = { 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(WEBHOOK_MS)
  let status: number
  try {
    const response = await fetch(url, { method: 'POST', headers, body, signal })
    await response.body?.cancel()
    status = response.status
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error }
    throw new Error(`the webhook at ${url.host} cannot be reached: ${cause?.message || message}`)
  }
  // The path of a webhook is often a secret, so it is not named.
  if (status < 200 || status > 299) throw new Error(`the webhook at ${url.host} returned ${status}`)
}
