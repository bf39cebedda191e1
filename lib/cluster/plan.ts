/** Plans how to distribute each table over a Citus cluster. Contains no SQL (see lib/cluster/distribution.ts). */
import { PROJECT_TABLES, type ProjectTable } from '../database/tables.ts'
import { DISTRIBUTION_COLUMN } from './shards.ts'

/** Oldest supported major version. Earlier versions of Citus lack features that the server's statements need. */
const LEAST_CITUS = 12

/**
 * Default number of shards. Each project is stored in one shard. A node holds several shards, which can be moved one at
 * a time.
 */
export const DEFAULT_SHARDS = 32
export const MOST_SHARDS = 1024

/** Current state of a table that the plan must distribute. */
export interface FoundTable {
  readonly name: ProjectTable
  /** PostgreSQL's estimate; undefined if the table was never analyzed. */
  readonly rows: number | undefined
  /** The table's size on the coordinator, without indexes. */
  readonly localBytes: number
  /** How the table is distributed; undefined if it is not. */
  readonly distributed: { readonly column: string; readonly shards: number; readonly colocation: number } | undefined
  readonly isOurs: boolean
}

export interface FoundNode {
  readonly name: string
  readonly port: number
  readonly isActive: boolean
  readonly isCoordinator: boolean
  readonly holdsShards: boolean
  /** Why this role cannot create tables on the node; undefined if the role can create tables. */
  readonly hindrance: string | undefined
}

/** A database's current state. */
export interface FoundCluster {
  /** Version of the extension in this database; undefined if not installed. */
  readonly citus: string | undefined
  /** Whether the extension's files are installed on the server. */
  readonly isAvailable: boolean
  readonly nodes: readonly FoundNode[]
  readonly tables: readonly FoundTable[]
  /** Names of the connections that other spoor processes have to this database. */
  readonly users: readonly string[]
}

export interface PlanStep {
  readonly table: ProjectTable
  /** The table to colocate with; undefined for the first table. */
  readonly beside: ProjectTable | undefined
  /** Number of shards; undefined if the table is colocated with another table. */
  readonly shards: number | undefined
  readonly rows: number | undefined
  readonly bytes: number
}

export interface DistributionPlan {
  /** Problems, as sentences with remedies. No step is applied while any problem exists. */
  readonly obstacles: readonly string[]
  readonly steps: readonly PlanStep[]
  /** Tables that are already distributed. */
  readonly done: readonly ProjectTable[]
  readonly nodes: readonly FoundNode[]
}

/**
 * Plans the distribution. `shards` is the requested number of shards; undefined keeps the existing number or uses the
 * default.
 */
export function planDistribution(found: FoundCluster, shards?: number): DistributionPlan {
  const [first] = PROJECT_TABLES
  const anchor = found.tables.find(({ name }) => name === first)?.distributed
  const done = found.tables.filter(({ distributed }) => distributed !== undefined).map(({ name }) => name)
  const left = found.tables.filter(({ distributed }) => distributed === undefined)
  const steps = left.map(({ name: table, rows, localBytes: bytes }): PlanStep => {
    const place =
      table === first ? { beside: undefined, shards: shards ?? DEFAULT_SHARDS } : { beside: first, shards: undefined }
    return { table, ...place, rows, bytes }
  })
  const obstacles = [
    ...engineObstacles(found),
    ...(found.citus === undefined ? [] : nodeObstacles(found.nodes)),
    ...tableObstacles(found.tables, anchor?.colocation),
    ...shardObstacles(shards, anchor?.shards),
    ...userObstacles(found.users)
  ]
  return { obstacles, steps, done, nodes: found.nodes }
}

function engineObstacles({ citus, isAvailable }: FoundCluster): string[] {
  if (citus === undefined) {
    return isAvailable
      ? ['This database has no Citus: run `create extension citus` here and in the same database on each worker.']
      : ['This PostgreSQL does not have Citus: install it on every node, with `shared_preload_libraries = citus`.']
  }
  return Number.parseInt(citus, 10) < LEAST_CITUS
    ? [`Citus ${citus} is too old: spoor needs ${LEAST_CITUS} or newer.`]
    : []
}

const named = ({ name, port }: FoundNode) => `${name}:${port}`

function nodeObstacles(nodes: readonly FoundNode[]): string[] {
  const holders = nodes.filter(({ holdsShards }) => holdsShards)
  const obstacles = nodes
    .filter(({ isActive }) => !isActive)
    .map(node => `The node ${named(node)} is not active: activate it (citus_activate_node), or remove it.`)
  if (!nodes.some(({ isCoordinator }) => isCoordinator)) {
    obstacles.push(
      "The coordinator is not known to the cluster: `select citus_set_coordinator_host('its name', 5432)`."
    )
  }
  if (holders.length === 0) {
    obstacles.push("No node can hold shards: add workers with `select citus_add_node('its name', 5432)`.")
  }
  for (const node of nodes) {
    if (node.hindrance !== undefined) obstacles.push(`The node ${named(node)}: ${node.hindrance}.`)
  }
  return obstacles
}

function tableObstacles(tables: readonly FoundTable[], colocation: number | undefined): string[] {
  return tables.flatMap(({ name, distributed, isOurs }) => {
    if (!isOurs) return [`The table ${name} belongs to another role: use the role that created the schema.`]
    if (distributed === undefined) return []
    if (distributed.column !== DISTRIBUTION_COLUMN) {
      return [
        `The table ${name} is distributed by ${distributed.column}: run undistribute_table('${name}'), then try again.`
      ]
    }
    return distributed.colocation === colocation
      ? []
      : [`The table ${name} is not colocated with traces: run undistribute_table('${name}'), then try again.`]
  })
}

function shardObstacles(wanted: number | undefined, there: number | undefined): string[] {
  if (wanted === undefined || there === undefined || wanted === there) return []
  return [`traces already has ${there} shards: omit --shards, or use alter_distributed_table.`]
}

function userObstacles(users: readonly string[]): string[] {
  if (users.length === 0) return []
  const some = [...new Set(users)].slice(0, 3).join(', ')
  return [`Other spoor processes are connected (${some}): stop all servers and commands first, because rows will move.`]
}
