/** `npm run cluster` runs tests against three nodes of Citus on this machine, a coordinator and two workers. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SocketTarget } from '../../lib/database/connection.ts'
import type { Binaries } from '../../lib/database/embedded/binaries.ts'
import type { LoadKind } from '../bench/load/load.ts'
import { flag, readArguments, text, UsageError } from '../bench/options.ts'
import { withDatabaseAt } from '../fixtures/database/target.ts'
import { ORDERS_VARIABLE, type Orders } from '../torture/part-orders.ts'
import { type BenchOptions, benchCluster } from './bench.ts'
import { citusPrograms } from './citus.ts'
import { tryCrashes } from './crashes.ts'
import { GROWING_SETTINGS, tryGrowth } from './grow.ts'
import { tryMoves } from './moves.ts'
import { type Nodes, startNodes } from './nodes.ts'
import { tryOutage } from './outage.ts'
import { compareReads } from './reads.ts'
import { makeDistributedDatabase, NODES_VARIABLE, type NodeTargets } from './template.ts'

const SUITES: readonly string[] = ['lib', 'plugins', 'whole']
const built = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const RUN = built('../run.js')
const HELD = 'spoor'
/** The kinds of load that `--bench` can measure. */
const KINDS: readonly LoadKind[] = ['small', 'typical', 'streaming']

/** Parts of `--torture` that are tap tests, with their files. */
const TORTURE_FILES = {
  isolation: ['../whole/tenants.test.js', '../whole/visitors.test.js'],
  lists: ['../torture/strain/lists.test.js']
} as const
const TORTURE = ['crashes', 'isolation', 'lists'] as const
const MINUTES = 10
/** Number of traces that `--reads` stores. */
const TRACES = 100_000
/** A node that is killed must not lose anything that it has committed. */
const DURABLE = { synchronous_commit: 'on' }

const HELP = `Runs tests against three nodes of Citus on this machine: a coordinator and two workers.

  npm run cluster [-- FLAGS] [FILES]

FILES are compiled tests (build/test/….test.js) or suites (${SUITES.join(', ')}). By default,
all three suites run.

  --source PATH      the source of Citus, a folder or tar archive, which is built once; also CITUS_SOURCE.
                     Without it, PostgreSQL must include Citus
  --pg-config PATH   the PostgreSQL installation; also CITUS_PG_CONFIG

Instead of tests:

  --hold             create a database, print its address, and wait for Ctrl-C
  --outage           kill and restart a worker
  --torture [PARTS]  run long tests: ${TORTURE.join(', ')}
    --minutes N      duration of each part (default: ${MINUTES})
  --grow             add a node under load
  --move             move shards under load
  --reads            compare the speed of reads with a plain PostgreSQL server
    --traces N       number of traces to store (default: ${TRACES})
  --bench            compare the cost of batches with a plain PostgreSQL server
    --kind NAME      ${KINDS.join(', ')} (default: typical)
    --rounds N       number of rounds (default: 4)

  --help             print this
`

process.exitCode = await main(process.argv.slice(2))

async function main(parameters: readonly string[]): Promise<number> {
  try {
    const flags = {
      source: text,
      'pg-config': text,
      hold: flag,
      outage: flag,
      torture: flag,
      grow: flag,
      reads: flag,
      move: flag,
      bench: flag,
      minutes: text,
      traces: text,
      rounds: text,
      kind: text,
      help: flag
    }
    const { values, positionals } = readArguments(parameters, flags)
    if (values.help) {
      process.stdout.write(HELP)
      return 0
    }
    const { env } = process
    const parts = values.torture ? readParts(positionals) : []
    const minutes = Number(values.minutes ?? MINUTES)
    if (!(minutes > 0)) throw new UsageError('--minutes takes a number above 0')
    const traces = Number(values.traces ?? TRACES)
    if (!(Number.isSafeInteger(traces) && traces > 0)) throw new UsageError('--traces takes a whole number above 0')
    const bench = readBenchOptions(values)
    const binaries = await citusPrograms({
      source: values.source ?? env.CITUS_SOURCE,
      pgConfig: values['pg-config'] ?? env.CITUS_PG_CONFIG ?? 'pg_config'
    })
    if (values.outage) return await onNodes(binaries, DURABLE, tryOutage)
    if (values.torture) return await torture(binaries, parts, minutes)
    if (values.grow) return await withNodes(binaries, GROWING_SETTINGS, nodes => tryGrowth(nodes).then(() => 0), 3)
    if (values.move) return await onNodes(binaries, GROWING_SETTINGS, tryMoves)
    if (values.bench) return await benchCluster(binaries, bench).then(() => 0)
    if (values.reads) return await withNodes(binaries, {}, nodes => compareReads(nodes, traces).then(() => 0))
    if (values.hold) return await onNodes(binaries, {}, ({ coordinator }) => hold(coordinator.target))
    return await withNodes(binaries, {}, nodes => runTests(nodes, positionals))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`cluster: ${error.message}`)
    return 2
  }
}

function readBenchOptions({ rounds = '4', kind = 'typical' }: { rounds?: string; kind?: string }): BenchOptions {
  const found = KINDS.find(each => each === kind)
  if (found === undefined) throw new UsageError(`--kind is one of ${KINDS.join(', ')}`)
  if (!/^[1-9]\d{0,3}$/.test(rounds)) throw new UsageError('--rounds takes a whole number above 0')
  return { rounds: Number(rounds), kind: found }
}

function readParts(named: readonly string[]): readonly (typeof TORTURE)[number][] {
  const wanted = named.flatMap(name => name.split(','))
  const unknown = wanted.find(name => !TORTURE.includes(name as never))
  if (unknown !== undefined)
    throw new UsageError(`--torture takes ${TORTURE.join(', ')}, not ${JSON.stringify(unknown)}`)
  return TORTURE.filter(part => wanted.length === 0 || wanted.includes(part))
}

/** Runs nodes while `work` runs. */
async function withNodes<T>(
  binaries: Binaries,
  settings: Readonly<Record<string, string>>,
  work: (nodes: Nodes) => Promise<T>,
  workers = 2
): Promise<T> {
  const nodes = await startNodes(binaries, workers, settings)
  try {
    return await work(nodes)
  } finally {
    await nodes.stop()
  }
}

/** Runs nodes with a database that is distributed over them. Resolves to the exit code. */
function onNodes(
  binaries: Binaries,
  settings: Readonly<Record<string, string>>,
  work: (nodes: Nodes, target: SocketTarget) => Promise<void>
): Promise<number> {
  return withNodes(binaries, settings, async nodes => {
    await makeDistributedDatabase(targetsOf(nodes), HELD)
    await work(nodes, withDatabaseAt(nodes.coordinator.target, HELD) as SocketTarget)
    return 0
  })
}

function targetsOf({ coordinator, workers }: Nodes): NodeTargets {
  return { coordinator: coordinator.target, workers: workers.map(({ target }) => target) }
}

async function torture(
  binaries: Binaries,
  parts: readonly (typeof TORTURE)[number][],
  minutes: number
): Promise<number> {
  let code = 0
  for (const part of parts) {
    console.log(`\n${part}`)
    if (part === 'crashes') {
      await onNodes(binaries, DURABLE, (...where) => tryCrashes(...where, minutes))
      console.log('kept: all that was answered is stored, once, and is counted and read')
    } else code ||= await withNodes(binaries, {}, nodes => tortureFiles(nodes, part, minutes))
  }
  return code
}

/** Runs the long form of a part's tests, and prints the figures that they report. */
async function tortureFiles(nodes: Nodes, part: keyof typeof TORTURE_FILES, minutes: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'spoor-cluster-'))
  try {
    const report = join(folder, 'figures')
    const orders: Orders = { minutes, seed: Date.now() % 1_000_000, traces: 0, report }
    const files = ['--timeout=0', ...TORTURE_FILES[part].map(built)]
    // The files are on disk instead of in memory, because the load leaves much data behind.
    const code = await runTests(nodes, files, { TMPDIR: tmpdir(), [ORDERS_VARIABLE]: JSON.stringify(orders) })
    process.stdout.write(await readFile(report, 'utf8').catch(() => ''))
    return code
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function hold({ socketDir, user, password }: SocketTarget): Promise<void> {
  console.log(`postgres://${user}:${password}@/${HELD}?host=${encodeURIComponent(socketDir)}`)
  const clock = setInterval(() => {}, 60_000)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  clearInterval(clock)
}

/** Resolves to the exit code. */
function runTests(nodes: Nodes, files: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<number> {
  const which = (files.length > 0 ? files : SUITES).map(each => (SUITES.includes(each) ? `--suite=${each}` : each))
  const env = { ...process.env, ...more, [NODES_VARIABLE]: JSON.stringify(targetsOf(nodes)) }
  const child = spawn(process.execPath, [RUN, '--jobs=2', ...which], { env, stdio: 'inherit' })
  // The child cleans up after these signals, and this process waits for it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((settle, reject) => {
    child.on('error', reject)
    child.on('close', code => settle(code ?? 1))
  })
}
