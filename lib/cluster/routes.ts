/**
 * Routes batches to nodes, and decides which operations may share a batch. On a single PostgreSQL server, there is one
 * route and all operations may share batches. On a Citus cluster, a batch is written directly to the node that holds
 * the batch's shards, into the shards' own tables. A write costs as much as on a single PostgreSQL server. Writes
 * through the coordinator cost more and use two-phase commit (test/bench/RESULTS.md, "A cluster").
 *
 * The states are `unknown` (the database has not been queried yet), `one` and `spread`. In the `spread` state, a
 * project whose shard is unknown or whose node is unreachable gets its own batches, which are written through the
 * coordinator. Routes may be outdated, so a batch locks its shards, and is rolled back if a shard has moved
 * (lib/cluster/shards.ts). All routes are then discarded and reread.
 */
import type { Sql } from 'postgres'
import type { Connections, Database } from '../database/database.ts'
import { closeSingle, openSingle } from '../database/pooled/single-connection.ts'
import { type Host, nameOf } from '../database/sockets/address.ts'
import type { Logger } from '../log.ts'
import type { Homes } from '../store/write/homes.ts'
import { BY_ADDRESS, type RouteNews, type WriteRoute } from '../store/write/route.ts'
import {
  CHECK_SHARDS,
  HOLD_SHARDS,
  isComplete,
  isSpread,
  readShards,
  readShardsOf,
  type Shard,
  type ShardNode
} from './shards.ts'

type Run = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>

interface Routed {
  readonly projectId: number
  /**
   * Set if the operation charges an account. Only the coordinator can charge the account in the operation's
   * transaction.
   */
  readonly charge?: unknown
  readonly operation?: object
}

/**
 * The coordinator holds the accounts and assigns ids to restored traces' scores, of lines and of pages. Shard tables
 * have no defaults.
 */
const needsCoordinator = ({ charge, operation = {} }: Routed): boolean =>
  charge !== undefined ||
  ('restored' in operation && operation.restored !== undefined) ||
  ('copied' in operation && operation.copied !== undefined)

/**
 * How long batches are sent to the coordinator after shards have moved (PAUSE_MS) or a node was unreachable (RETRY_MS).
 */
const PAUSE_MS = 1000
const RETRY_MS = 10_000
/** How often to reread the list of shards, in case a node has recovered or been renamed. */
const RENEW_MS = 60_000
const PROBE_TIMEOUT_MS = 5000
/** How long operations on a shard that is being moved are kept out of other shards' batches. */
const HELD_MS = 1000
const FIRST_SHARD_GROUP = 2 ** 32
/** Maximum number of projects held in memory. Beyond the maximum, all projects are discarded. */
const MAX_PROJECTS = 100_000

/** Shards are checked after they are locked, because a shard's move may end while the lock is awaited. */
export const GUARDS: Homes['guards'] = [
  { name: 'hold_shards', text: HOLD_SHARDS },
  { name: 'check_shards', text: CHECK_SHARDS }
]

export class Routes implements RouteNews {
  readonly #run: Run
  readonly #connectionsOf: Database['node']
  readonly #log: Logger
  #state: 'unknown' | 'one' | 'spread' = 'unknown'
  #shards: ReadonlyMap<number, Shard> | undefined
  #nodes: readonly ShardNode[] = []
  /** Time at which to reread the shards, in ms of performance.now(). */
  #renewAt = 0
  /** Shard ids by project. Discarding the routes replaces the Map, because batches still hold the old Map. */
  #projects = new Map<number, number>()
  /** Projects whose shards are unknown and must be looked up. */
  readonly #strange = new Set<number>()
  /**
   * For each node, `open` if the node accepts batches; otherwise the time at which to try the node again, in ms of
   * performance.now().
   */
  readonly #reached = new Map<string, 'open' | number>()
  readonly #told = new Set<string>()
  /** Shards that were being moved, and when operations on each may share batches again. */
  readonly #held = new Map<number, number>()
  /** Number of times that all routes were discarded. */
  #changes = 0
  #isAtWork = false
  #isClosed = false

  /** `run` provides a connection to the database's own address, for reads. */
  constructor(run: Run, connectionsOf: Database['node'], log: Logger) {
    this.#run = run
    this.#connectionsOf = connectionsOf
    this.#log = log
  }

  /**
   * Returns a function that assigns each operation to a group. Only operations of the same group may share a batch.
   * Undefined if all operations may share batches.
   */
  get groupOf(): ((operation: Routed) => number) | undefined {
    return this.#state === 'one' ? undefined : this.#groupOf
  }

  /** Negative groups are single projects, node groups start at 0, and shard groups start at FIRST_SHARD_GROUP. */
  readonly #groupOf = (operation: Routed): number => {
    const { projectId } = operation
    const shard = needsCoordinator(operation) ? undefined : this.shardOf(projectId)
    if (shard === undefined) return -1 - projectId
    return this.#held.size > 0 && this.#isHeld(shard.id) ? FIRST_SHARD_GROUP + shard.id : shard.node.id
  }

  /** Returns the route of a batch whose operations belong to one group. */
  routeOf(batch: readonly Routed[]): WriteRoute {
    const [first] = batch
    if (this.#state !== 'spread' || first === undefined || batch.some(needsCoordinator)) return BY_ADDRESS
    const node = this.shardOf(first.projectId)?.node
    if (node === undefined) return BY_ADDRESS
    const [shards, projects] = [this.#shards, this.#projects]
    const of = (projectId: number) => shards?.get(projects.get(projectId) as number) as Shard
    return { host: node, homes: { of, guards: GUARDS } }
  }

  /** Returns the project's shard; undefined if the shard is unknown or its node is unreachable. */
  shardOf(projectId: number): Shard | undefined {
    const shard = this.#shards?.get(this.#projects.get(projectId) ?? -1)
    return shard !== undefined && this.#reached.get(nameOf(shard.node)) === 'open' ? shard : undefined
  }

  /** Discards the routes, because shards have moved. */
  forget(): void {
    this.#shards = undefined
    this.#projects = new Map()
    this.#changes++
    this.#renewAt = performance.now() + PAUSE_MS
  }

  /** Separates a shard's operations from other batches, because a batch timed out waiting for the shard. */
  hold(shard: number): void {
    this.#held.set(shard, performance.now() + HELD_MS)
  }

  #isHeld(shard: number): boolean {
    const isOver = (this.#held.get(shard) ?? 0) < performance.now()
    if (isOver) this.#held.delete(shard)
    return !isOver
  }

  /** Stops using a node that could not be reached, or to which the connection was lost. */
  avoid(node: Host, error: unknown): void {
    const key = nameOf(node)
    this.#reached.set(key, performance.now() + RETRY_MS)
    if (this.#told.has(key)) return
    this.#told.add(key)
    this.#log.warn(
      { err: error, node: key },
      'a cluster node cannot be reached from here; its batches go through the coordinator, which is slower'
    )
  }

  /**
   * Looks up unknown routes in the background; the next call retries failures. Call after a batch, when a connection is
   * idle.
   */
  learn(batch: readonly Routed[]): void {
    if (this.#state === 'one') return
    for (const { projectId } of batch) if (!this.#projects.has(projectId)) this.#strange.add(projectId)
    if (this.#isAtWork || this.#isClosed || !this.#isDue()) return
    this.#isAtWork = true
    const done = () => {
      this.#isAtWork = false
    }
    this.#learn().then(done, done)
  }

  close(): void {
    this.#isClosed = true
  }

  #isDue(): boolean {
    if (this.#state === 'unknown' || performance.now() >= this.#renewAt) return true
    const isKnown = this.#shards !== undefined
    return isKnown && (this.#strange.size > 0 || this.#nodes.some(node => this.#isWaiting(node)))
  }

  /** Returns whether a node is due for another attempt. */
  #isWaiting(node: ShardNode): boolean {
    const reached = this.#reached.get(nameOf(node)) ?? 0
    return reached !== 'open' && performance.now() >= reached
  }

  async #learn(): Promise<void> {
    await this.#run(sql => this.#ask(sql))
    const shards = [...(this.#shards?.values() ?? [])]
    const tries = this.#nodes
      .filter(node => this.#isWaiting(node))
      .map(node => this.#try(shards.find(shard => shard.node === node) as Shard))
    await Promise.all(tries)
  }

  async #ask(sql: Sql): Promise<void> {
    if (this.#state === 'unknown') this.#state = (await isSpread(sql)) ? 'spread' : 'one'
    if (this.#state === 'one') {
      this.#strange.clear()
      return
    }
    const changes = this.#changes
    const strange = [...this.#strange]
    const shards = performance.now() < this.#renewAt ? undefined : await readShards(sql)
    const found = strange.length === 0 ? [] : await readShardsOf(sql, strange)
    if (changes !== this.#changes) return
    if (shards !== undefined) this.#take(shards)
    if (this.#projects.size > MAX_PROJECTS) this.#projects = new Map()
    for (const [project, shard] of found) this.#projects.set(project, shard)
    for (const project of strange) this.#strange.delete(project)
  }

  #take(all: ReadonlyMap<number, Shard>): void {
    const shards = new Map([...all].filter(([, shard]) => isComplete(shard)))
    // A split moves a shard's projects to new shards.
    const isSame = shards.size === this.#shards?.size && [...shards.keys()].every(id => this.#shards?.has(id))
    if (!isSame) this.#projects = new Map()
    this.#shards = shards
    this.#nodes = [...new Set([...shards.values()].map(({ node }) => node))]
    this.#renewAt = performance.now() + RENEW_MS
  }

  /** Checks whether batches can be written on a node. */
  async #try({ id, node }: Shard): Promise<void> {
    try {
      await probe(this.#connectionsOf(node), id)
      const key = nameOf(node)
      this.#reached.set(key, 'open')
      this.#told.delete(key)
    } catch (error) {
      this.avoid(node, error)
    }
  }
}

async function probe(connections: Connections, shard: number): Promise<void> {
  const sql = await openSingle(connections, { applicationName: 'writer', statementTimeoutMs: PROBE_TIMEOUT_MS })
  try {
    // Fails if this connection cannot take the shard's lock, which the write path requires.
    await sql.unsafe(HOLD_SHARDS.replace('$1', `'{${shard}}'::bigint[]`))
  } finally {
    void closeSingle(connections, sql)
  }
}
