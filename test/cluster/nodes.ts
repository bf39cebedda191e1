/** Three PostgreSQLs with Citus on this machine: a coordinator, which spoor is given, and workers, which hold the shards. */
import type { SocketTarget } from '../../lib/database/connection.ts'
import { connectTo } from '../../lib/database/connection.ts'
import type { Binaries } from '../../lib/database/embedded/binaries.ts'
import { startTrustingCluster, type TestCluster } from '../fixtures/database/cluster.ts'

/** Few shards: each test has a database of its own, with all of them. */
const SETTINGS = {
  shared_preload_libraries: 'citus',
  'citus.shard_count': '4',
  // Connections between the nodes come on top of the tests' own.
  max_connections: '300',
  // Each database has a process of Citus that looks after it.
  max_worker_processes: '100',
  // How soon a transaction is settled whose coordinator was killed between the two phases; its rows are locked until then.
  'citus.recover_2pc_interval': '1s',
  shared_buffers: '64MB'
}

/** A node goes by the folder of its socket, also where it asks itself. */
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

/** Makes a database of all nodes one of the cluster. It must be on each of them. */
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
