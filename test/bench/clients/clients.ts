/**
 * `npm run bench -- clients`: what an application pays for a client. Installs spoor-client and the clients of Langfuse
 * and LangSmith for both languages, and measures their size, the CPU time of a span that is recorded and sent, memory,
 * and the duration of loading. The clients take turns, so that other load on the machine affects all of them.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readFlags, text, UsageError } from '../options.ts'
import { runCommand } from '../peers/programs.ts'
import type { Progress } from '../progress.ts'
import { round, table } from '../report.ts'
import { type Sink, startSink } from './sink.ts'

export const CLIENTS_HELP = `Measures what clients cost an application: npm run bench -- clients [flags]

Installs spoor-client, @langfuse/otel, langsmith (npm) and spoor-client, langfuse, langsmith (pip), each in a project
of its own, and lets each record and send the same traces to a server that only counts.

  --traces N     traces of 8 spans in each run (default: 1000)
  --runs N       runs, of which the median is printed (default: 5)
  --cache DIR    where the clients are installed (default: spoor-bench in XDG_CACHE_HOME or ~/.cache)
  --python PATH  the Python of the virtual environments (default: python3)
`

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const PROGRAMS = join(ROOT, 'test/bench/clients/programs')

interface Client {
  readonly language: 'npm' | 'pip'
  readonly name: 'spoor' | 'langfuse' | 'langsmith'
  /** The packages that an application needs to record and send, as the client's own documentation says. */
  readonly packages: readonly string[]
}
const CLIENTS: readonly Client[] = [
  { language: 'npm', name: 'spoor', packages: [] },
  {
    language: 'npm',
    name: 'langfuse',
    packages: ['@langfuse/tracing', '@langfuse/otel', '@opentelemetry/sdk-node']
  },
  { language: 'npm', name: 'langsmith', packages: ['langsmith'] },
  { language: 'pip', name: 'spoor', packages: [join(ROOT, 'clients/python')] },
  { language: 'pip', name: 'langfuse', packages: ['langfuse'] },
  { language: 'pip', name: 'langsmith', packages: ['langsmith'] }
]

interface Installed {
  readonly client: Client
  readonly folder: string
  /** Names with versions of `packages`. */
  readonly versions: readonly string[]
  readonly packageCount: number
  readonly bytes: number
}

interface Run {
  readonly cpuMicros: number
  readonly startMs: number
  readonly rssBytes: number
}

export interface ClientResult extends Run, Installed {
  /** Whether the server received every span; undefined if it cannot read the client's compression. */
  readonly isWhole: boolean | undefined
}

export interface ClientsOptions {
  readonly traces: number
  readonly runs: number
  readonly cache: string
  readonly python: string
  readonly help: boolean
}

export function readClientsOptions(parameters: readonly string[]): ClientsOptions {
  const flags = readFlags(parameters, {
    traces: text,
    runs: text,
    cache: text,
    python: text,
    help: { type: 'boolean' }
  })
  const count = (name: 'traces' | 'runs', fallback: number) => {
    const value = Number(flags[name] ?? fallback)
    if (!Number.isInteger(value) || value < 1) throw new UsageError(`--${name} takes a whole number from 1 on`)
    return value
  }
  return {
    traces: count('traces', 1000),
    runs: count('runs', 5),
    cache: flags.cache ?? join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'spoor-bench'),
    python: flags.python ?? 'python3',
    help: flags.help ?? false
  }
}

export async function measureClients(options: ClientsOptions, progress: Progress): Promise<readonly ClientResult[]> {
  const installed: Installed[] = []
  for (const client of CLIENTS) {
    progress.step = `installing ${client.name} from ${client.language}`
    installed.push(await install(client, options))
  }
  const sink = await startSink()
  const runs = installed.map((): Run[] => [])
  const whole = installed.map((): (boolean | undefined)[] => [])
  try {
    for (let round = 0; round < options.runs; round++) {
      for (const [place, one] of installed.entries()) {
        progress.step = `run ${round + 1} of ${options.runs}: ${one.client.name} from ${one.client.language}`
        const { spans, ...run } = await runOnce(one, sink, options)
        runs[place]!.push(run)
        const received = sink.takeCount()
        whole[place]!.push(received === undefined ? undefined : received === spans)
      }
    }
  } finally {
    sink.close()
  }
  return installed.map((one, place) => {
    const median = (name: keyof Run) => runs[place]!.map(run => run[name]).sort((a, b) => a - b)[options.runs >> 1]!
    const isWhole = whole[place]!.includes(undefined) ? undefined : whole[place]!.every(Boolean)
    return {
      ...one,
      isWhole,
      cpuMicros: median('cpuMicros'),
      startMs: median('startMs'),
      rssBytes: median('rssBytes')
    }
  })
}

async function install(client: Client, { cache, python }: ClientsOptions): Promise<Installed> {
  const folder = join(cache, 'clients', `${client.language}-${client.name}`)
  if (client.name === 'spoor') rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  return client.language === 'npm' ? installFromNpm(client, folder) : installFromPip(client, folder, python)
}

async function installFromNpm(client: Client, folder: string): Promise<Installed> {
  const modules = join(folder, 'node_modules')
  if (!existsSync(modules)) {
    writeFileSync(join(folder, 'package.json'), '{ "name": "application", "private": true }')
    const names = client.packages.length > 0 ? client.packages : [pack(folder)]
    await runCommand({ program: 'npm', args: ['install', '--no-audit', '--no-fund', ...names], cwd: folder })
  }
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  const names = client.packages.length > 0 ? client.packages : ['spoor-client']
  const versions = names.map(name => `${name} ${packages[`node_modules/${name}`].version}`)
  // The first entry of the lock file is the project itself.
  return { client, folder, versions, packageCount: Object.keys(packages).length - 1, bytes: sizeOf(modules) }
}

/** Packs the built client as npm publishes it, and returns the path of the archive. */
function pack(folder: string): string {
  const args = ['pack', '--json', '--pack-destination', folder, join(ROOT, 'build/spoor-client')]
  return `./${JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }))[0].filename}`
}

async function installFromPip(client: Client, folder: string, python: string): Promise<Installed> {
  const packages = join(folder, 'packages')
  if (!existsSync(packages)) {
    const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', packages]
    await runCommand({ program: python, args: [...args, ...client.packages] })
  }
  const infos = readdirSync(packages).filter(name => name.endsWith('.dist-info'))
  const [, name, version] = infos
    .map(info => /^(.+)-(.+)\.dist-info$/.exec(info)!)
    .find(([, name]) => name!.startsWith(client.name))!
  const versions = [`${name!.replace('_', '-')} ${version}`]
  return { client, folder: packages, versions, packageCount: infos.length, bytes: sizeOf(packages) }
}

function sizeOf(folder: string): number {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => !name.includes('__pycache__'))
  return names
    .map(name => lstatSync(join(folder, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)
}

async function runOnce(
  { client, folder }: Installed,
  { url }: Sink,
  options: ClientsOptions
): Promise<Run & { spans: number }> {
  const env = {
    SPOOR_URL: url,
    SPOOR_API_KEY: 'k',
    LANGSMITH_TRACING: 'true',
    LANGSMITH_ENDPOINT: url,
    LANGSMITH_API_KEY: 'k',
    LANGFUSE_BASE_URL: url,
    LANGFUSE_PUBLIC_KEY: 'pk',
    LANGFUSE_SECRET_KEY: 'sk'
  }
  const [program, args, more] = commandFor(client, folder, options)
  return JSON.parse(await runCommand({ program, args, env: { ...env, ...more }, cwd: folder }))
}

function commandFor(
  client: Client,
  folder: string,
  { traces, python }: ClientsOptions
): [program: string, args: string[], env: Record<string, string>] {
  if (client.language === 'pip') {
    const path = { PYTHONPATH: `${folder}:${PROGRAMS}`, PYTHONDONTWRITEBYTECODE: '' }
    return [python, [join(PROGRAMS, 'run.py'), `${client.name}_python`, String(traces)], path]
  }
  // A module imports packages from its own folder's node_modules.
  for (const name of ['run.mjs', `${client.name}.mjs`])
    writeFileSync(join(folder, name), readFileSync(join(PROGRAMS, name)))
  return [process.execPath, ['run.mjs', `./${client.name}.mjs`, String(traces)], {}]
}

export function renderClients(results: readonly ClientResult[]): string {
  const head = ['client', 'packages', 'size', 'CPU of a span', 'memory', 'to load']
  const rows = results.map(({ client, versions, packageCount, bytes, cpuMicros, rssBytes, startMs, isWhole }) => {
    const language = client.language === 'npm' ? 'Node' : 'Python'
    return [
      `${language}: ${versions.join(', ')}${isWhole === false ? ' (spans missing)' : ''}`,
      String(packageCount),
      `${round(bytes / 1e6)} MB`,
      `${round(cpuMicros)} µs`,
      `${round(rssBytes / 1e6)} MB`,
      `${round(startMs)} ms`
    ]
  })
  return `${table(head, rows)}\n`
}
