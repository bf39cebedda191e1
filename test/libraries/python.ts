/**
 * Creates virtual environments with the pinned packages of `environments/`, and runs programs in them. The first line
 * of each file names the required packages. The other lines pin everything that was installed for them, so that later
 * runs use the same versions. To update a file, install the packages of its first line into an empty environment, and
 * replace the other lines with the output of `pip freeze`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The source folder, because the build contains only compiled TypeScript. */
export const SOURCES = fileURLToPath(new URL('../../../test/libraries/', import.meta.url))
export const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/spoor-otlp-libraries', import.meta.url))
const PROGRAMS = join(SOURCES, 'programs')
/** The oldest Python version that all libraries support. */
const OLDEST = [3, 11] as const
/** Time limit, longer than any program takes. A program that hangs is killed. */
const PROGRAM_MS = 300_000

/** Thrown if this machine lacks a tool, or cannot install packages. The message names the cause. */
export class Missing extends Error {
  override readonly name = 'Missing'
}

export function requirePython(): void {
  const { status, stdout } = spawnSync('python3', ['-c', 'import sys, venv; print(*sys.version_info[:2])'], {
    encoding: 'utf8'
  })
  const [major = 0, minor = 0] = status === 0 ? stdout.trim().split(' ').map(Number) : []
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return
  throw new Missing(`python3 ${OLDEST.join('.')} or later, with its module venv, is needed on the path`)
}

/** Returns the version to which an environment pins a distribution. */
export function pinnedVersion(environment: string, distribution: string): string {
  const version = new RegExp(`^${distribution}==(\\S+)$`, 'm').exec(readRequirements(environment))?.[1]
  if (version === undefined) throw new Error(`environments/${environment}.txt does not pin ${distribution}`)
  return version
}

const pathOf = (environment: string) => join(SOURCES, 'environments', `${environment}.txt`)
const readRequirements = (environment: string) => readFileSync(pathOf(environment), 'utf8')

/** Creates an environment, unless it already exists with exactly these packages. Returns the path of its Python. */
export function makeEnvironment(environment: string): string {
  const folder = join(CACHE, environment)
  const python = join(folder, 'bin', 'python')
  const mark = join(folder, 'installed')
  const digest = createHash('sha256').update(readRequirements(environment)).digest('hex')
  if (existsSync(mark) && readFileSync(mark, 'utf8').trim() === digest) return python
  console.error(`installing environments/${environment}.txt`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(CACHE, { recursive: true })
  run('python3', ['-m', 'venv', folder])
  run(python, ['-m', 'pip', 'install', '--quiet', '--prefer-binary', '-r', pathOf(environment)])
  writeFileSync(mark, `${digest}\n`)
  return python
}

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw error ?? new Missing(`${command} ${args.join(' ')} ended with ${status}`)
}

export interface Ran {
  readonly code: number | null
  readonly output: string
}

/** Runs a program of `programs/` until it exits. */
export function runProgram(python: string, program: string, env: Readonly<Record<string, string>>): Promise<Ran> {
  return runCommand(python, [join(PROGRAMS, program)], { ...env, PYTHONPATH: PROGRAMS })
}

export function runCommand(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>
): Promise<Ran> {
  const child = spawn(command, args, {
    env: { ...process.env, ...env, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: PROGRAM_MS,
    killSignal: 'SIGKILL'
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, output }))
  })
}
