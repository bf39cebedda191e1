/**
 * Decides where batches are written, and which operations may share one. On one PostgreSQL there is one way, and all
 * may. On a cluster (Citus) a batch is written on the node that has its shards, over a connection to that node and
 * into the tables of the shards: as on one PostgreSQL, and at that cost. The coordinator would send it there too, but
 * costs more and commits what it sends in two phases (test/bench/RESULTS.md, "A cluster").
 *
 * States: unknown (nobody has asked the database yet), one, spread. Where it is spread, but the shard of a project is
 * not known yet, or its node cannot be reached from here, batches of that project alone go to the coordinator. What is
 * known may be old: a batch holds its shards, finds out that one was moved, and is undone (lib/cluster/shards.ts).
 * Then all is forgotten and asked again.
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
  type ShardNode,
  tryHold
} from './shards.ts'

type Run = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>

interface Routed {
  readonly projectId: number
  /** Set if an account is charged, which only the coordinator can do in the same transaction. */
  readonly charge?: unknown
  readonly operation?: object
}

/**
 * The coordinator has the accounts that are charged, and draws the numbers of scores, which a restored trace brings
 * with it: the tables of shards have no defaults.
 */
const needsCoordinator = ({ charge, operation = {} }: Routed): boolean =>
  charge !== undefined || ('restored' in operation && operation.restored !== undefined)

/** After shards have moved, or a node could not be reached, the coordinator has their batches for so long. */
const PAUSE_MS = 1000
const RETRY_MS = 10_000
/** The list of shards is read again after so long: a node may have come back, or have another name. */
const RENEW_MS = 60_000
const PROBE_TIMEOUT_MS = 5000
/** How long operations of a shard that is being moved share no batch with others. */
const HELD_MS = 1000
const FIRST_SHARD_GROUP = 2 ** 32
/** Bounds the memory. Beyond it all are forgotten. */
const MAX_PROJECTS = 100_000

/** The check comes second: while the first waited for the lock, a move may have ended. */
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
  /** Each node once. */
  #nodes: readonly ShardNode[] = []
  /** When they are read, as performance.now() has it. */
  #renewAt = 0
  /** The number of a project's shard. Another Map takes its place when all is forgotten, for batches have this one. */
  #projects = new Map<number, number>()
  /** Projects that have been seen, and whose shards are not known. */
  readonly #strange = new Set<number>()
  /** The nodes that take batches, or when they are tried again, as performance.now() has it. */
  readonly #reached = new Map<string, 'open' | number>()
  readonly #told = new Set<string>()
  /** Shards that were being moved, and when they may share batches again. */
  readonly #held = new Map<number, number>()
  /** How often all was forgotten. */
  #changes = 0
  #isAtWork = false
  #isClosed = false

  /** `run` gives a connection to read with, by the address of the database. */
  constructor(run: Run, connectionsOf: Database['node'], log: Logger) {
    this.#run = run
    this.#connectionsOf = connectionsOf
    this.#log = log
  }

  /** The group of an operation: operations of one group may share a batch. Undefined if all may. */
  get groupOf(): ((operation: Routed) => number) | undefined {
    return this.#state === 'one' ? undefined : this.#groupOf
  }

  /** Nodes are numbered from 0 on, and shards far above. */
  readonly #groupOf = (operation: Routed): number => {
    const { projectId } = operation
    const shard = needsCoordinator(operation) ? undefined : this.shardOf(projectId)
    if (shard === undefined) return -1 - projectId
    return this.#held.size > 0 && this.#isHeld(shard.id) ? FIRST_SHARD_GROUP + shard.id : shard.node.id
  }

  /** The way of a batch whose operations are of one group. */
  routeOf(batch: readonly Routed[]): WriteRoute {
    const [first] = batch
    if (this.#state !== 'spread' || first === undefined || batch.some(needsCoordinator)) return BY_ADDRESS
    const node = this.shardOf(first.projectId)?.node
    if (node === undefined) return BY_ADDRESS
    const [shards, projects] = [this.#shards, this.#projects]
    const of = (projectId: number) => shards?.get(projects.get(projectId) as number) as Shard
    return { host: node, homes: { of, guards: GUARDS } }
  }

  /** Undefined if it is not known, or its node not reached from here. */
  shardOf(projectId: number): Shard | undefined {
    const shard = this.#shards?.get(this.#projects.get(projectId) ?? -1)
    return shard !== undefined && this.#reached.get(nameOf(shard.node)) === 'open' ? shard : undefined
  }

  /** Shards have moved. */
  forget(): void {
    this.#shards = undefined
    this.#projects = new Map()
    this.#changes++
    this.#renewAt = performance.now() + PAUSE_MS
  }

  /** A batch has waited in vain for a shard: operations of other shards need not wait with it. */
  hold(shard: number): void {
    this.#held.set(shard, performance.now() + HELD_MS)
  }

  #isHeld(shard: number): boolean {
    const isOver = (this.#held.get(shard) ?? 0) < performance.now()
    if (isOver) this.#held.delete(shard)
    return !isOver
  }

  /** A node could not be reached, or the connection to it was lost. */
  avoid(node: Host, error: unknown): void {
    const key = nameOf(node)
    this.#reached.set(key, performance.now() + RETRY_MS)
    if (this.#told.has(key)) return
    this.#told.add(key)
    this.#log.warn(
      { err: error, node: key },
      'a node of the cluster cannot be reached from here; its batches go by the coordinator, which costs more'
    )
  }

  /**
   * Finds out what is not known, in the background. To be called after a batch: then there is a connection that does
   * nothing. Where the database cannot be asked, the next call tries again.
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

  /** Whether a node is to be tried. */
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
    // After a split the projects of a shard are in others.
    const isSame = shards.size === this.#shards?.size && [...shards.keys()].every(id => this.#shards?.has(id))
    if (!isSame) this.#projects = new Map()
    this.#shards = shards
    this.#nodes = [...new Set([...shards.values()].map(({ node }) => node))]
    this.#renewAt = performance.now() + RENEW_MS
  }

  /** Finds out whether batches can be written on a node. */
  async #try({ id, node }: Shard): Promise<void> {
    const connections = this.#connectionsOf(node)
    try {
      await probe(connections, id)
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
    await tryHold(sql, shard)
  } finally {
    void closeSingle(connections, sql)
  }
}
