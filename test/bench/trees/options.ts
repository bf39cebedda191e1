/** The flags of `npm run bench -- trees`. */
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AGENT_KINDS, type LoadKind } from '../load/load.ts'
import { flag, readArguments, text, UsageError } from '../options.ts'

export interface TreesOptions {
  /** Built working trees. All others are compared with the first. */
  readonly trees: readonly string[]
  readonly kind: LoadKind
  /** File of runs to send in place of generated ones. */
  readonly runs: string | undefined
  readonly rounds: number
  readonly seconds: number
  /** Whether each measurement begins right after its server's start, without a warm-up. */
  readonly isFresh: boolean
  /** Duration of the warm-up before the first round. */
  readonly warmUpSeconds: number
  readonly connections: number | undefined
  /** Traces per second; undefined for the maximum. */
  readonly rate: number | undefined
  readonly folder: string
  readonly json: boolean
  readonly help: boolean
}

const KINDS: readonly LoadKind[] = [
  'small',
  'typical',
  'large',
  'streaming',
  'otlp-json',
  'otlp-protobuf',
  ...AGENT_KINDS
]
const ROUNDS = 4
const SECONDS = 2.5
/** Time until V8 has compiled the code. */
const WARM_UP_SECONDS = 6

export const TREES_HELP = `Measures several working trees of this project in turns: npm run bench -- trees [flags] TREE TREE...

A tree is a folder with the project built in it, such as a git worktree of the commit before a change; the others are
compared with the first. Each has a server and a database of its own. They are measured one after the other, round by
round, and once more with new servers that are started in the other order: two servers of the same code differ by some
percent. Give the machine nothing else to do meanwhile.

  --kind NAME        ${KINDS.join(', ')} (default: typical)
  --runs FILE        runs for the agent kinds, in place of generated ones: bodies of POST /api/v1/traces, one a line
  --rounds N         rounds of each of the two halves (default: ${ROUNDS})
  --seconds N        how long each measurement takes (default: ${SECONDS})
  --warm-up N        seconds of load on each new server before the first round (default: ${WARM_UP_SECONDS})
  --fresh            measure the first seconds after a start: each measurement has a new server, without a warm-up
  --connections N    connections of the load generator (default: 256; large and agent kinds 16)
  --rate N           traces a second, to compare CPU under a given load (default: as many as it takes)
  --folder DIR       where the databases are put for the time (default: ${tmpdir()})
  --json             print one JSON value instead
  --help             print this
`

/** Reads the flags. Throws a UsageError if they are invalid. */
export function readTreesOptions(parameters: readonly string[]): TreesOptions {
  const { values, positionals } = readArguments(parameters, FLAGS)
  const kind = KINDS.find(name => name === (values.kind ?? 'typical'))
  if (kind === undefined) throw new UsageError(`--kind takes one of ${KINDS.join(', ')}`)
  const positive = (flag: 'rounds' | 'seconds' | 'warm-up' | 'connections' | 'rate') => {
    const value = values[flag]
    if (value === undefined) return undefined
    if (!(Number(value) > 0)) throw new UsageError(`--${flag} takes a number above 0, not ${JSON.stringify(value)}`)
    return Number(value)
  }
  const trees = positionals.map(tree => resolve(tree))
  const help = values.help ?? false
  if (!help && trees.length < 2) throw new UsageError('trees takes at least two folders; --help says more')
  for (const tree of trees) {
    if (serviceOf(tree) === undefined) {
      throw new UsageError(`${tree} is not built; run npm ci there, or npm run build`)
    }
  }
  return {
    trees,
    kind,
    runs: values.runs,
    rounds: Math.ceil(positive('rounds') ?? ROUNDS),
    seconds: positive('seconds') ?? SECONDS,
    isFresh: values.fresh ?? false,
    warmUpSeconds: positive('warm-up') ?? WARM_UP_SECONDS,
    connections: positive('connections'),
    rate: positive('rate'),
    folder: values.folder ?? tmpdir(),
    json: values.json ?? false,
    help
  }
}

const FLAGS = {
  kind: text,
  runs: text,
  rounds: text,
  seconds: text,
  'warm-up': text,
  fresh: flag,
  connections: text,
  rate: text,
  folder: text,
  json: flag,
  help: flag
} as const

/**
 * Returns the built file that starts a tree's server; older trees have it in another folder. Undefined if it is not
 * built.
 */
export function serviceOf(tree: string): string | undefined {
  const places = ['machine/service.js', 'service.js'].map(place => join(tree, 'build/test/bench', place))
  return places.find(place => existsSync(place))
}
