/** The template of a cluster's test databases. A test clones it on every node to get its own distributed database. */
import { applyDistribution, readDistributionPlan } from '../../lib/cluster/distribution.ts'
import { connectTo, type SocketTarget } from '../../lib/database/connection.ts'
import { migrate } from '../../lib/database/migrate.ts'
import { createLog } from '../../lib/log.ts'
import { databaseAt, runOn } from '../fixtures/database/database.ts'
import { withDatabaseAt } from '../fixtures/database/target.ts'
import { joinNodes } from './nodes.ts'

/** The number of shards is small, because each test has all of them. */
const SHARDS = 4
/** Environment variable that tells a test run which nodes to use, as JSON. */
export const NODES_VARIABLE = 'SPOOR_TEST_NODES'

export interface NodeTargets {
  readonly coordinator: SocketTarget
  readonly workers: readonly SocketTarget[]
}

export function readNodes(): NodeTargets | undefined {
  const text = process.env[NODES_VARIABLE]
  return text === undefined ? undefined : JSON.parse(text)
}

export async function makeDistributedTemplate(nodes: NodeTargets, name: string): Promise<void> {
  await makeDistributedDatabase(nodes, name)
  // A database can be copied only while no connection to it is open. Any new connection would make Citus's own process
  // connect again, so connections are forbidden.
  for (const node of [nodes.coordinator, ...nodes.workers]) {
    await runOn(node, `alter database ${name} allow_connections false`)
    await runOn(node, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`)
  }
}

/** Creates a database on each node, and distributes its tables over `shards` shards. */
export async function makeDistributedDatabase(
  { coordinator, workers }: NodeTargets,
  name: string,
  shards = SHARDS
): Promise<void> {
  const nodes = [coordinator, ...workers]
  for (const node of nodes) await runOn(node, `create database ${name}`)
  const on = (node: SocketTarget) => withDatabaseAt(node, name) as SocketTarget
  await joinNodes(on(coordinator), workers.map(on))
  await migrate(databaseAt(on(coordinator)), createLog('warn'))
  await distribute(on(coordinator), shards)
}

export async function distribute(target: SocketTarget, shards: number): Promise<void> {
  const sql = connectTo(target)
  try {
    await applyDistribution(sql, await readDistributionPlan(sql, shards))
  } finally {
    await sql.end({ timeout: 1 })
  }
}
