/** The flags of `npm run bench`. */
import { availableParallelism, homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'

export const CASES = [
  'small',
  'typical',
  'large',
  'streaming',
  'resends',
  'tls',
  'search',
  'latency',
  'mcp',
  'otlp',
  'long',
  'peers'
] as const
/** The peers are measured only if chosen, because they are installed from other registries. */
const USUAL_CASES = CASES.filter(name => name !== 'peers')
export type Case = (typeof CASES)[number]

export interface Options {
  readonly cases: readonly Case[]
  /** Duration of each measurement. */
  readonly seconds: number
  readonly runs: number
  /** Connections of the load generator; undefined for the case's default. */
  readonly connections: number | undefined
  /** Number of spans with which the tables are filled for a second round; 0 for no second round. */
  readonly stored: number
  /** URL of another PostgreSQL server, measured in turns with the embedded server; undefined for none. */
  readonly database: string | undefined
  /** MLflow's program, and Jaeger's; undefined to install them in `cache`. */
  readonly mlflow: string | undefined
  readonly jaeger: string | undefined
  readonly cache: string
  readonly folder: string
  /** Folder in which the server writes a CPU profile of its main thread when it ends; undefined for no profile. */
  readonly profile: string | undefined
  readonly json: boolean
  readonly help: boolean
}

/** An invalid command line. The message names the flag and the values that it accepts. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const HELP = `Measures how fast traces are recorded, against COPY of the same rows: npm run bench -- [flags]

It starts a server and an embedded PostgreSQL of its own (fsync on) in a temporary folder, sends unique traces from a
separate process over keep-alive connections, and prints medians as Markdown tables. test/bench/README.md says how
everything is measured. Give the machine nothing else to do meanwhile.

  --case NAME        ${CASES.join(', ')}; several with commas, or the flag again (default: all but peers)
  --seconds N        how long each measurement takes (default: 4)
  --runs N           runs of each case, of which the median is printed (default: 3)
  --connections N    connections of the load generator (default: 256, large 16)
  --stored N         then fill a second server with so many spans (20M, 500k) and measure again; about 1 kB of disk each
  --database URL     then measure again beside a server that uses this PostgreSQL, in a database that is made for the time
  --mlflow PATH      for peers: MLflow's program, of 3.6 or later, with psycopg2 (default: install it by pip in --cache)
  --jaeger PATH      for peers: Jaeger 2's program (default: build it with go in --cache, which takes minutes)
  --cache DIR        where peers are installed and kept (default: spoor-bench in XDG_CACHE_HOME or ~/.cache)
  --folder DIR       where the database is put for the time (default: ${tmpdir()})
  --profile DIR      have the server write a CPU profile of all that was measured (node --cpu-prof) into DIR
  --json             print one JSON value instead
  --help             print this

--case peers sends the same OTLP exports to this service, MLflow and Jaeger, which run one after the other beside it.

npm run bench -- reads measures lists and details instead, search searches by words, trees compares working trees, and
clients measures the clients for Node and Python; each has a --help of its own.
WORKERS, PROCESSES and LOG_LEVEL are passed on to the server (this machine: ${availableParallelism()} cores).
`

/** Reads the flags. Throws a UsageError if they are invalid. */
export function readOptions(parameters: readonly string[]): Options {
  const flags = readFlags(parameters, FLAGS)
  const number = (flag: keyof typeof flags, fallback: number, isFit: (value: number) => boolean, rule: string) => {
    const text = flags[flag]
    const value = text === undefined ? fallback : Number(text)
    if (!isFit(value)) throw new UsageError(`--${flag} takes ${rule}, not ${JSON.stringify(text)}`)
    return value
  }
  const isCount = (value: number) => Number.isInteger(value) && value > 0
  return {
    cases: readCases(flags.case),
    seconds: number('seconds', 4, value => value > 0 && value <= 3_600, 'seconds, such as 4 or 0.5'),
    runs: number('runs', 3, isCount, 'a whole number'),
    connections:
      flags.connections === undefined ? undefined : number('connections', 0, isCount, 'a whole number of connections'),
    stored: readAmount(flags.stored ?? '0'),
    database: readUrl(flags.database),
    mlflow: flags.mlflow,
    jaeger: flags.jaeger,
    cache: flags.cache ?? join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'spoor-bench'),
    folder: flags.folder ?? tmpdir(),
    profile: flags.profile,
    json: flags.json ?? false,
    help: flags.help ?? false
  }
}

export const text = { type: 'string' } as const
export const flag = { type: 'boolean' } as const
const FLAGS = {
  case: { type: 'string', multiple: true },
  seconds: text,
  runs: text,
  connections: text,
  stored: text,
  database: text,
  mlflow: text,
  jaeger: text,
  cache: text,
  folder: text,
  profile: text,
  json: flag,
  help: flag
} as const

type Flags = NonNullable<ParseArgsConfig['options']>

/** Reads flags as node does. Throws a UsageError for an unknown flag. */
export function readFlags<T extends Flags>(parameters: readonly string[], options: T) {
  return readArguments(parameters, options, false).values
}

/** Reads flags that may be mixed with other arguments. */
export function readArguments<T extends Flags>(parameters: readonly string[], options: T, allowPositionals = true) {
  try {
    return parseArgs({ args: [...parameters], options, allowPositionals })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function readCases(names: readonly string[] | undefined): readonly Case[] {
  if (names === undefined) return USUAL_CASES
  const wanted = names.flatMap(name => name.split(','))
  const unknown = wanted.find(name => !CASES.includes(name as Case))
  if (unknown !== undefined)
    throw new UsageError(`--case is one of ${CASES.join(', ')}, not ${JSON.stringify(unknown)}`)
  return CASES.filter(name => wanted.includes(name))
}

function readUrl(url: string | undefined): string | undefined {
  if (url === undefined || /^postgres(ql)?:\/\//.test(url)) return url
  throw new UsageError('--database takes an address that begins with postgres:// or postgresql://')
}

/** Reads an amount such as `20M`, `500k` or `1000`. */
export function readAmount(text: string): number {
  const [, digits, unit] = /^(\d+)([kM]?)$/.exec(text) ?? []
  if (digits === undefined)
    throw new UsageError(`--stored takes a number such as 20M or 500k, not ${JSON.stringify(text)}`)
  return Number(digits) * (unit === 'M' ? 1e6 : unit === 'k' ? 1e3 : 1)
}
