/** Builds and runs the Go programs in `go/`: a sender with OpenTelemetry's exporter, and the Collector. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE, Missing, SOURCES } from './python.ts'

export type Program = 'sender' | 'collector'

/** Builds a program, with Go's build cache. Returns the program's path. */
export function buildProgram(program: Program): string {
  const path = join(CACHE, 'go', program)
  mkdirSync(join(CACHE, 'go'), { recursive: true })
  const { status, error } = spawnSync('go', ['build', '-buildvcs=false', '-o', path, '.'], {
    cwd: join(SOURCES, 'go', program),
    stdio: ['ignore', 'inherit', 'inherit']
  })
  if (error !== undefined) throw new Missing('go, 1.26 or later, is needed on the path')
  if (status !== 0) throw new Missing(`go build of ${program} ended with ${status}`)
  return path
}

/** Returns the version of a module that a program uses. */
export function moduleVersion(program: Program, module: string): string {
  const { stdout } = spawnSync('go', ['list', '-m', '-f', '{{.Version}}', module], {
    cwd: join(SOURCES, 'go', program),
    encoding: 'utf8'
  })
  return stdout.trim()
}

export interface Running {
  /** The output on stdout and on stderr so far. */
  readonly out: string
  readonly err: string
  readonly closed: Promise<number | null>
  stop(): Promise<void>
}

export function startProgram(
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {}
): Running {
  const child: ChildProcess = spawn(path, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const text = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', chunk => {
    text.out += chunk
  })
  child.stderr?.setEncoding('utf8').on('data', chunk => {
    text.err += chunk
  })
  const closed = once(child, 'close').then(([code]) => code as number | null)
  const end = () => void child.kill('SIGKILL')
  process.on('exit', end)
  void closed.then(() => process.off('exit', end))
  return {
    get out() {
      return text.out
    },
    get err() {
      return text.err
    },
    closed,
    async stop() {
      child.kill('SIGTERM')
      await closed
    }
  }
}
