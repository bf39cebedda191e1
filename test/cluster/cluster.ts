/**
 * `npm run cluster [-- --source PATH --pg-config PATH] [FILES]`: the tests that use the database, against three nodes of
 * Citus on this machine: a coordinator and two workers. `--source` (or CITUS_SOURCE) names the source of Citus, which is
 * built once; without it, PostgreSQL must have Citus. `--pg-config` (or CITUS_PG_CONFIG) names another PostgreSQL. `--hold`
 * runs no tests: it makes a database, says its address, and waits for Ctrl-C. `--outage` tries what happens when a worker is
 * killed and comes back (outage.ts). `--bench` measures what batches cost, beside a plain PostgreSQL (bench.ts), in so many
 * `--rounds`, of traces of a `--kind`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type SocketTarget, withDatabase } from '../../lib/database/connection.ts'
import type { LoadKind } from '../bench/load/load.ts'
import { flag, readArguments, text, UsageError } from '../bench/options.ts'
import { type BenchOptions, benchCluster } from './bench.ts'
import { citusPrograms } from './citus.ts'
import { startNodes } from './nodes.ts'
import { tryOutage } from './outage.ts'
import { makeDistributedDatabase, NODES_VARIABLE } from './template.ts'

const SUITES = ['lib', 'plugins', 'whole']
const RUN = fileURLToPath(new URL('../run.js', import.meta.url))
const HELD = 'spoor'
const KINDS: readonly LoadKind[] = ['small', 'typical', 'streaming']

process.exitCode = await main(process.argv.slice(2))

async function main(parameters: readonly string[]): Promise<number> {
  try {
    const flags = { source: text, 'pg-config': text, hold: flag, outage: flag, bench: flag, rounds: text, kind: text }
    const { values, positionals } = readArguments(parameters, flags)
    const { env } = process
    const binaries = await citusPrograms({
      source: values.source ?? env.CITUS_SOURCE,
      pgConfig: values['pg-config'] ?? env.CITUS_PG_CONFIG ?? 'pg_config'
    })
    if (values.bench) {
      await benchCluster(binaries, readBenchOptions(values))
      return 0
    }
    const nodes = await startNodes(binaries)
    const targets = { coordinator: nodes.coordinator.target, workers: nodes.workers.map(({ target }) => target) }
    try {
      if (values.outage) {
        await makeDistributedDatabase(targets, HELD)
        await tryOutage(nodes, withDatabase(targets.coordinator, HELD) as SocketTarget)
        return 0
      }
      if (!values.hold) return await runTests(JSON.stringify(targets), positionals)
      await makeDistributedDatabase(targets, HELD)
      return await hold(targets.coordinator)
    } finally {
      await nodes.stop()
    }
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
async function hold({ socketDir, user, password }: SocketTarget): Promise<number> {
  console.log(`postgres://${user}:${password}@/${HELD}?host=${encodeURIComponent(socketDir)}`)
  const clock = setInterval(() => {}, 60_000)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  clearInterval(clock)
  return 0
}

/** Resolves to the exit code. */
function runTests(nodes: string, files: readonly string[]): Promise<number> {
  const which = files.length > 0 ? files : SUITES.map(suite => `--suite=${suite}`)
  const env = { ...process.env, [NODES_VARIABLE]: nodes }
  const child = spawn(process.execPath, [RUN, '--jobs=2', ...which], { env, stdio: 'inherit' })
  // The run clears up when it is told to end, and is waited for.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((settle, reject) => {
    child.on('error', reject)
    child.on('close', code => settle(code ?? 1))
  })
}
