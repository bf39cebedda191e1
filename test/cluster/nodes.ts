/**
 * Three PostgreSQL servers with Citus on this machine: a coordinator, to which spoor connects, and workers, which hold
 * the shards.
 */
import type { SocketTarget } from '../../lib/database/connection.ts'
import { connectTo } from '../../lib/database/connection.ts'
import type { Binaries } from '../../lib/database/embedded/binaries.ts'
import { startTrustingCluster, type TestCluster } from '../fixtures/database/cluster.ts'

/** The number of shards is small, because each test has its own database with all shards. */
const SETTINGS = {
  shared_preload_libraries: 'citus',
  'citus.shard_count': '4',
  // The nodes also open connections to each other, in addition to the tests' own.
  max_connections: '300',
  // Citus runs a maintenance process for each database.
  max_worker_processes: '100',
  // Interval at which Citus settles transactions that a killed coordinator left between the two phases of their commit.
  // Until then, the rows of these transactions stay locked.
  'citus.recover_2pc_interval': '1s',
  shared_buffers: '64MB'
}

/** A node's host name is the folder of its socket, even for the node's connections to itself. */
const named = (socketDir: string) => ({ 'citus.local_hostname': socketDir })

export interface Nodes {
  readonly coordinator: TestCluster
  readonly workers: readonly TestCluster[]
  stop(): Promise<void>
}

export async function startNodes(
  binaries: Binaries,
  workers = 2,
  settings: Readonly<Record<string, string>> = {}
): Promise<Nodes> {
  const nodes: TestCluster[] = []
  const stop = async () => {
    for (const node of nodes) await node.stop()
  }
  try {
    for (let n = 0; n <= workers; n++) {
      nodes.push(await startTrustingCluster(binaries, { ...SETTINGS, ...settings }, named))
    }
    const [coordinator, ...others] = nodes as [TestCluster, ...TestCluster[]]
    return { coordinator, workers: others, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Joins the databases of all nodes into a cluster. The database must exist on each node. */
export async function joinNodes(coordinator: SocketTarget, workers: readonly SocketTarget[]): Promise<void> {
  for (const target of [coordinator, ...workers]) await runAll(target, ['create extension citus'])
  await runAll(coordinator, [
    `select citus_set_coordinator_host('${coordinator.socketDir}', ${coordinator.port})`,
    ...workers.map(({ socketDir, port }) => `select citus_add_node('${socketDir}', ${port})`)
  ])
}

async function runAll(target: SocketTarget, statements: readonly string[]): Promise<void> {
  const sql = connectTo(target)
  try {
    for (const statement of statements) await sql.unsafe(statement)
  } finally {
    await sql.end({ timeout: 1 })
  }
}
