/**
 * Measures the cost of a batch on a cluster: traces of one project and of 64 projects, sent in turns to a server on the
 * cluster and to a server that uses a plain PostgreSQL server with the same programs and settings. PostgreSQL's CPU
 * time is the sum over all nodes. Citus's processes work even when nothing is sent, so their idle CPU time per second
 * is measured first, and the report also has the figures without the idle time.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createAccount } from '../../lib/admin/accounts.ts'
import { createKey } from '../../lib/admin/keys.ts'
import { createProject } from '../../lib/admin/projects.ts'
import type { SocketTarget } from '../../lib/database/connection.ts'
import type { Binaries } from '../../lib/database/embedded/binaries.ts'
import { SCOPES } from '../../lib/schema/scopes.ts'
import type { LoadKind } from '../bench/load/load.ts'
import { startSender } from '../bench/load/load.ts'
import { type CpuTimes, readCpuTimes, subtractTimes } from '../bench/machine/cpu.ts'
import { startServiceOn } from '../bench/machine/service.ts'
import { Undo } from '../bench/machine/undo.ts'
import { median } from '../bench/measure.ts'
import { round, table } from '../bench/report.ts'
import { startTrustingCluster, type TestCluster } from '../fixtures/database/cluster.ts'
import { runOn } from '../fixtures/database/database.ts'
import { withDatabaseAt } from '../fixtures/database/target.ts'
import { startNodes } from './nodes.ts'
import { makeDistributedDatabase } from './template.ts'

/** Settings of a durable server. */
const DURABLE = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  shared_buffers: '256MB',
  max_wal_size: '4GB'
}
/**
 * Citus's default interval between recoveries of transactions. More frequent recoveries, as in the tests, would affect
 * the figures.
 */
const RECOVERY = { 'citus.recover_2pc_interval': '1min' }
const SHARDS = 32
const PROJECTS = [1, 64] as const
const CONNECTIONS = 256
const WARM_UP_MS = 6000
/** Time until all connections are open and the batches are full. */
const OPENING_MS = 1500
const SECONDS = 5
const IDLE_SECONDS = 20
const DATABASE = 'spoor_bench'

/** A server and its database. */
interface Side {
  readonly name: string
  readonly pid: number
  readonly port: number
  readonly keys: readonly string[]
  readonly postmasters: readonly number[]
}

interface Run {
  readonly tracesPerSecond: number
  readonly p50: number
  readonly node: number
  readonly postgres: number
  /** PostgreSQL's CPU time in µs per trace, without the CPU time that it uses when idle. */
  readonly busy: number
}

export interface BenchOptions {
  readonly rounds: number
  readonly kind: LoadKind
}

/** Measures both servers and prints a table. */
export async function benchCluster(binaries: Binaries, { rounds, kind }: BenchOptions): Promise<void> {
  const undo = new Undo()
  const sender = startSender()
  undo.add(() => sender.stop())
  try {
    const nodes = await startNodes(binaries, 2, { ...DURABLE, ...RECOVERY })
    undo.add(() => nodes.stop())
    const targets = { coordinator: nodes.coordinator.target, workers: nodes.workers.map(({ target }) => target) }
    await makeDistributedDatabase(targets, DATABASE, SHARDS)
    const one = await startTrustingCluster(binaries, { ...DURABLE, max_connections: '300' }, () => ({}))
    undo.add(() => one.stop())
    await runOn(one.target, `create database ${DATABASE}`)
    const sides = [
      await startSide('plain', [one], undo),
      await startSide('cluster', [nodes.coordinator, ...nodes.workers], undo)
    ]
    const idle = new Map<Side, number>()
    const measure = async (side: Side, projects: number, warmUpMs: number): Promise<Run> => {
      const { pid, port, keys, postmasters } = side
      const times: CpuTimes[] = []
      const note = () => void times.push(readCpuTimes(pid, postmasters) as CpuTimes)
      const load = { port, key: '', keys: keys.slice(0, projects), kind, connections: CONNECTIONS, firstNumber: 1 }
      const plan = { ...load, warmUpMs, measureMs: SECONDS * 1000 }
      const { traces, seconds, p50, statuses } = await sender.run(plan, { opened: note, closed: note })
      const refused = Object.keys(statuses).filter(status => status >= '300')
      if (refused.length > 0) throw new Error(`traces were refused: ${JSON.stringify(statuses)}`)
      const used = subtractTimes(times[1] as CpuTimes, times[0] as CpuTimes)
      const tracesPerSecond = traces / seconds
      const postgres = used.postgres / traces
      return {
        tracesPerSecond,
        p50,
        node: used.node / traces,
        postgres,
        busy: postgres - (idle.get(side) ?? 0) / tracesPerSecond
      }
    }
    for (const side of sides) await measure(side, Math.max(...PROJECTS), WARM_UP_MS)
    for (const side of sides) {
      idle.set(side, await measureIdle(side))
      console.log(
        `${side.name}: with nothing to do ${round((idle.get(side) as number) / 1000)} ms of PostgreSQL's CPU a second`
      )
    }
    const runs = new Map<string, Run[]>()
    for (let n = 0; n < rounds; n++) {
      for (const projects of PROJECTS) {
        for (const side of n % 2 === 0 ? sides : sides.toReversed()) {
          const key = `${side.name} ${projects}`
          runs.set(key, [...(runs.get(key) ?? []), await measure(side, projects, OPENING_MS)])
        }
      }
    }
    console.log(render(kind, runs))
  } finally {
    await undo.run()
  }
}

/** Returns PostgreSQL's CPU time in µs per second while nothing is sent. */
async function measureIdle({ pid, postmasters }: Side): Promise<number> {
  const start = readCpuTimes(pid, postmasters) as CpuTimes
  await delay(IDLE_SECONDS * 1000)
  return subtractTimes(readCpuTimes(pid, postmasters) as CpuTimes, start).postgres / IDLE_SECONDS
}

async function startSide(name: string, clusters: readonly TestCluster[], undo: Undo): Promise<Side> {
  const [{ target }] = clusters as [TestCluster]
  const digestSecret = randomBytes(32).toString('hex')
  const { socketDir, user, password } = withDatabaseAt(target, DATABASE) as SocketTarget
  const url = `postgres://${user}:${password}@/${DATABASE}?host=${encodeURIComponent(socketDir)}`
  const { sql, pid, port } = await startServiceOn(url, digestSecret, { folder: tmpdir(), profile: undefined }, undo)
  const account = await createAccount(sql, 'bench', 'owner')
  const keys: string[] = []
  for (let n = 0; n < Math.max(...PROJECTS); n++) {
    const slug = `bench-${n}`
    await createProject(sql, 1e12, { name: slug, slug, accountId: account.id })
    keys.push((await createKey(sql, { keyPrefix: 'spoor', digestSecret }, { project: slug, scopes: SCOPES })).key)
  }
  return { name, pid, port, keys, postmasters: clusters.map(readPostmaster) }
}

const readPostmaster = ({ dataDir }: TestCluster): number =>
  Number.parseInt(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8'), 10)

function render(kind: LoadKind, runs: ReadonlyMap<string, readonly Run[]>): string {
  const FIGURES = ['tracesPerSecond', 'p50', 'node', 'postgres', 'busy'] as const
  const rows = PROJECTS.flatMap(projects => {
    const [plain = [], cluster = []] = ['plain', 'cluster'].map(name => runs.get(`${name} ${projects}`) ?? [])
    const figures = (own: readonly Run[]) => FIGURES.map(figure => round(median(own.map(run => run[figure]))))
    const ratios = FIGURES.map(figure => median(cluster.map((run, i) => run[figure] / (plain[i] as Run)[figure])))
    return [
      [`${projects}`, 'plain', ...figures(plain)],
      [`${projects}`, 'cluster', ...figures(cluster)],
      [`${projects}`, 'to plain', ...ratios.map(ratio => `**${ratio.toFixed(2)}**`)]
    ]
  })
  return table(
    ['projects', `${kind} traces`, 'a second', 'p50 ms', 'node µs', 'PostgreSQL µs, all nodes', 'without idle'],
    rows
  )
}
