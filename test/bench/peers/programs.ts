/** Installs and starts other programs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Undo } from '../machine/undo.ts'

/** Thrown if a program cannot be found, installed or started. The message is the reason, without a full stop. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

export interface Command {
  readonly program: string
  readonly args: readonly string[]
  /** Variables that are set in addition to the environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** Renders a command as typed in a shell. */
export function renderCommand({ program, args, env = {}, cwd }: Command): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quote(value)}`)
  const line = [...variables, ...[program, ...args].map(quote)].join(' ')
  return cwd === undefined ? line : `cd ${quote(cwd)} && ${line}`
}

const quote = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** Runs a command to its end and returns its output. Throws Unavailable if it fails. */
export async function runCommand(command: Command): Promise<string> {
  const { program, args, env, cwd } = command
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close').catch((error: NodeJS.ErrnoException) => {
    throw new Unavailable(error.code === 'ENOENT' ? `${program} was not found` : error.message)
  })
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (code === 0) return output
  throw new Unavailable(`\`${renderCommand(command)}\` failed (${lastLine(errors || output)})`)
}

export interface Started {
  readonly pid: number
}

const POLL_MS = 100
const START_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 30_000

/**
 * Starts a server whose output goes to `logFile`, and waits until `healthUrl` answers. `undo` stops all of its
 * processes. Throws Unavailable if the server does not start.
 */
export async function startProgram(
  command: Command,
  { logFile, healthUrl }: { readonly logFile: string; readonly healthUrl: string },
  undo: Undo
): Promise<Started> {
  const { program, args, env, cwd } = command
  const log = await open(logFile, 'w')
  const stdio = ['ignore', log.fd, log.fd] as const
  // The server leads a group of processes, so that its workers can be stopped with it.
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, detached: true, stdio: [...stdio] })
  const failed = new Promise<string>(resolve => child.on('error', error => resolve(error.message)))
  await log.close()
  if (child.pid === undefined) throw new Unavailable(`${program} could not be started (${await failed})`)
  undo.add(() => stopGroup(child))
  const deadline = performance.now() + START_TIMEOUT_MS
  while (performance.now() < deadline && !hasEnded(child)) {
    const response = await fetch(healthUrl).catch(() => undefined)
    await response?.arrayBuffer()
    if (response?.ok) return { pid: child.pid! }
    await delay(POLL_MS)
  }
  throw new Unavailable(`${program} did not start (${lastLine(await readFile(logFile, 'utf8'))})`)
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

async function stopGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return
  if (!hasEnded(child)) {
    const exited = once(child, 'exit')
    signalGroup(child.pid, 'SIGTERM')
    const timer = setTimeout(() => signalGroup(child.pid!, 'SIGKILL'), STOP_TIMEOUT_MS)
    await exited
    clearTimeout(timer)
  }
  // Workers may outlive the process that started them.
  signalGroup(child.pid, 'SIGKILL')
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Returns the last line that is not empty. */
export const lastLine = (output: string): string => output.trimEnd().split('\n').at(-1)?.trim() || 'without a message'
