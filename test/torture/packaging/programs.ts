/** Runs other programs, and checks whether they are installed. */
import { execFile, spawnSync } from 'node:child_process'
import { figure } from '../orders.ts'

export interface Finished {
  readonly code: number
  /** The outputs on stdout and stderr. */
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** A program that takes longer is killed. */
  readonly mostMs?: number
}

const MOST_MS = 600_000
const MOST_BYTES = 64 * 1024 * 1024

export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { cwd, env, mostMs = MOST_MS } = options
  return new Promise(resolve => {
    execFile(
      program,
      args,
      { cwd, env: { ...process.env, ...env }, timeout: mostMs, maxBuffer: MOST_BYTES },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code ?? 1) || 1, out, err })
    )
  })
}

/** Runs a program that must succeed. Returns its stdout. */
export async function succeed(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, out, err } = await run(program, args, options)
  if (code === 0) return out
  throw new Error(`${program} ${args.slice(0, 3).join(' ')} ended with ${code}: ${`${out}${err}`.slice(-2000)}`)
}

/** Returns a sentence that names the programs missing from the path; undefined if all are on the path. */
export function missing(programs: readonly string[]): string | undefined {
  const lacking = programs.filter(program => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
  return lacking.length === 0 ? undefined : `there is no ${lacking.join(', ')} here`
}

/** Reports a part that was not tested, and the reason. */
export function leave(what: string, reason: string): void {
  figure(what, `not looked at: ${reason}`)
}
