/**
 * Kills processes of a cluster with SIGKILL under load. No answered write is lost, and transactions interrupted between
 * the two phases of their commit are settled.
 */
import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connectTo, type SocketTarget } from '../../lib/database/connection.ts'
import { Pool } from '../../lib/database/pool.ts'
import { claimSecret } from '../../lib/store/projects/digest-secret.ts'
import type { TestCluster } from '../fixtures/database/cluster.ts'
import { databaseAt } from '../fixtures/database/database.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../fixtures/database/seed.ts'
import { withDatabaseAt } from '../fixtures/database/target.ts'
import { childrenOf } from '../fixtures/processes.ts'
import { until } from '../fixtures/until.ts'
import { Witness } from '../torture/load/witness.ts'
import type { Nodes } from './nodes.ts'
import { makeProjects, spreadEvenly } from './projects.ts'
import { type Server, startServer } from './server.ts'
import { TwoNodes } from './two-nodes.ts'

/** Number of 2xx responses that each project must get before a kill, and again after it. */
const ENOUGH = 20
/** Maximum time until all projects are served again. */
const MOST_RECOVERY_MS = 120_000
const MOST_AWAY_MS = 2000

const VICTIMS = ['a worker', 'the coordinator', 'a backend of a worker', 'a backend of the coordinator'] as const
const SERVER_VICTIMS = ['the server', 'a server process'] as const
type Victim = (typeof VICTIMS)[number] | (typeof SERVER_VICTIMS)[number]
const ALL_VICTIMS: readonly Victim[] = [...VICTIMS, ...SERVER_VICTIMS]

const oneOf = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!

/**
 * Runs for `minutes`, and at least until each victim has been killed once. Prints figures. Throws if a promise is
 * broken.
 */
export async function tryCrashes(nodes: Nodes, target: SocketTarget, minutes: number): Promise<void> {
  const end = performance.now() + minutes * 60_000
  const database = databaseAt(target)
  const pool = new Pool(onClose => database.connect({ onClose }), { size: 2 })
  await pool.run(sql => claimSecret(sql, database.digestSecret as string))
  const projects = spreadEvenly(await makeProjects(pool, 'crashes', 8), 2)
  const env = { PROCESSES: '2' }
  let server = await startServer(target, env)
  const witnesses = projects.map(({ id, key }) => new Witness(() => server.address, key, String(id)))
  const twoNodes = new TwoNodes(target, projects)
  const killed = new Map<Victim, number>()
  let longestMs = 0
  let leftInTwoPhases = 0
  try {
    for (let round = 0; round < ALL_VICTIMS.length || performance.now() < end; round++) {
      const victim = ALL_VICTIMS[round % ALL_VICTIMS.length]!
      await untilUnderWay(witnesses)
      await delay(Math.random() * 1000)
      const start = performance.now()
      if (victim === 'the server') {
        await server.end('SIGKILL')
        server = await startServer(target, env)
      } else leftInTwoPhases += await kill(victim, nodes, target, server)
      await untilUnderWay(witnesses)
      killed.set(victim, (killed.get(victim) ?? 0) + 1)
      longestMs = Math.max(longestMs, Math.round(performance.now() - start))
      const figures = { longestMs, leftInTwoPhases, ...twoNodes.counts, ...sum(witnesses) }
      console.log(`${[...killed].map(([name, times]) => `${times} of ${name}`).join(', ')} ${JSON.stringify(figures)}`)
      if (witnesses.some(({ wrong }) => wrong.length > 0)) break
    }
    await twoNodes.stop()
    for (const witness of witnesses) await witness.stop()
    for (const witness of witnesses) await witness.check()
    const wrong = witnesses.flatMap(witness => witness.wrong)
    assert.deepEqual(wrong.slice(0, 5), [], 'every answer and every trace is as the model has it')
    await untilSettled(nodes, target)
    assert.deepEqual(await twoNodes.faults(), [], 'what is done on one node is done on the other')
    await pool.run(async sql => {
      assert.deepEqual(await countOrphans(sql), NO_ORPHANS, 'every number is that of its rows')
      assert.deepEqual(await countStrays(sql), NO_STRAYS)
      const [row] = await sql`select recover_prepared_transactions() as recovered`
      assert.equal(row?.recovered, 0, 'nothing is left to recover')
    })
  } finally {
    await twoNodes.stop()
    for (const witness of witnesses) await witness.stop()
    await server.end('SIGKILL')
    await pool.end()
  }
}

async function untilUnderWay(witnesses: readonly Witness[]): Promise<void> {
  const before = witnesses.map(({ counts }) => counts.answered2xx)
  await until(
    () => witnesses.every(({ counts, wrong }, i) => wrong.length > 0 || counts.answered2xx >= before[i]! + ENOUGH),
    MOST_RECOVERY_MS
  )
}

function sum(witnesses: readonly Witness[]): Record<string, number> {
  const all: Record<string, number> = {}
  for (const { counts } of witnesses) {
    for (const [name, count] of Object.entries(counts)) all[name] = (all[name] ?? 0) + count
  }
  return all
}

/**
 * Kills the victim, and restarts it if nothing else does. Resolves to the number of transactions that were seen between
 * the two phases of their commit.
 */
async function kill(victim: Victim, nodes: Nodes, target: SocketTarget, server: Server): Promise<number> {
  const worker = oneOf(nodes.workers)
  const node = victim.endsWith('coordinator') ? nodes.coordinator : worker
  if (victim === 'a server process' || victim.startsWith('a backend')) {
    const parent = victim === 'a server process' ? server.pid : postmasterOf(node)
    const isSought = victim === 'a server process' ? /node/ : /spoor spoor \[local\]/
    const pid = oneOf(childrenOf(parent).filter(({ title }) => isSought.test(title)))?.pid
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
    return 0
  }
  await node.pause('immediate')
  const others = nodes.workers.filter(other => other !== node)
  const left = node === nodes.coordinator ? await countPrepared(others, target) : 0
  await delay(Math.random() * MOST_AWAY_MS)
  await node.resume()
  return left
}

function postmasterOf({ dataDir }: TestCluster): number {
  return Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0])
}

/** Counts the transactions on these nodes that are prepared but neither committed nor rolled back. */
async function countPrepared(nodes: readonly TestCluster[], { database }: SocketTarget): Promise<number> {
  let count = 0
  for (const node of nodes) {
    const sql = connectTo(withDatabaseAt(node.target, database))
    const [row] = await sql<[{ count: number }]>`select count(*)::int as count from pg_prepared_xacts`.finally(() =>
      sql.end({ timeout: 1 })
    )
    count += row.count
  }
  return count
}

/** Waits until Citus has settled the transactions by itself. */
async function untilSettled({ coordinator, workers }: Nodes, target: SocketTarget): Promise<void> {
  await until(async () => (await countPrepared([coordinator, ...workers], target)) === 0, MOST_RECOVERY_MS)
}
