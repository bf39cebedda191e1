/**
 * Reads one project on a Citus cluster over a connection to the node that holds the project's shard. A read costs as
 * much as on a single PostgreSQL server. Reads through the coordinator are planned twice, on the coordinator and on the
 * node (test/bench/RESULTS.md, "Reads on a cluster").
 *
 * A shard may have moved since its location was last read, so each read also checks, in the same round trip, that the
 * shard is on the node. If the shard is there, the read sees every write acknowledged before the read began, even if
 * the shard moves a moment later. The table on the node then either stays unchanged, or is dropped, and a dropped table
 * makes the read fail.
 */
import type { Sql } from 'postgres'
import type { ConnectOptions, Database } from '../database/database.ts'
import { classifyFailure, hasMoved, isUnreachable, PoolError } from '../database/failure.ts'
import { Pool } from '../database/pool.ts'
import type { Client } from '../database/pooled/cancellation.ts'
import { nameOf } from '../database/sockets/address.ts'
import { ELSEWHERE, type Near, type ProjectRead } from '../database/sql-access.ts'
import { allAnswered } from '../store/transactions.ts'
import type { Routes } from './routes.ts'
import type { Shard, ShardNode } from './shards.ts'

/** Locates shards. */
export type Directory = Pick<Routes, 'shardOf' | 'learn' | 'forget' | 'avoid'>

export interface NearOptions {
  readonly connection: ConnectOptions
  /** Number of connections to each node. */
  readonly size: number
}

/**
 * Maximum number of prepared statements per connection. A connection keeps a plan for each statement and shard; the
 * plan for a list request takes 0.6 MB of PostgreSQL's memory. A connection that exceeds the maximum is closed and
 * replaced. Until then, the connection plans recurring statements only once.
 */
const MOST_STATEMENTS = 150
/** Number of reads between two counts of a connection's prepared statements. A count costs as much as a short read. */
const COUNTED_EVERY = 25

export class NearReads implements Near {
  readonly #nodeOf: Database['node']
  readonly #directory: Directory
  readonly #options: NearOptions
  readonly #pools = new Map<string, Pool>()
  /** Number of reads that each connection has served. */
  readonly #reads = new WeakMap<Sql, number>()

  constructor(nodeOf: Database['node'], directory: Directory, options: NearOptions) {
    this.#nodeOf = nodeOf
    this.#directory = directory
    this.#options = options
  }

  has(projectId: number): boolean {
    return this.#shardOf(projectId) !== undefined
  }

  async read<T>(projectId: number, work: ProjectRead<T>, client?: Client): Promise<T | typeof ELSEWHERE> {
    const shard = this.#shardOf(projectId)
    if (shard === undefined) return ELSEWHERE
    try {
      const result = await this.#poolOf(shard.node).run(sql => this.#readIn(sql, shard, work), client)
      if (result === ELSEWHERE) this.#directory.forget()
      return result
    } catch (error) {
      if (hasMoved(error)) {
        this.#directory.forget()
        return ELSEWHERE
      }
      // A full pool or a client that has disconnected is not the node's fault.
      if ((error instanceof PoolError && error.code !== 'CONNECTION_LOST') || client?.signal.aborted) throw error
      if (classifyFailure(error) !== 'lost' && !isUnreachable(error)) throw error
      this.#directory.avoid(shard.node, error)
      return ELSEWHERE
    }
  }

  async end(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(pool => pool.end()))
  }

  /** Looks up an unknown shard for later reads. */
  #shardOf(projectId: number): Shard | undefined {
    this.#directory.learn([{ projectId }])
    return this.#directory.shardOf(projectId)
  }

  async #readIn<T>(sql: Sql, { id, names }: Shard, work: ProjectRead<T>): Promise<T | typeof ELSEWHERE> {
    const reads = (this.#reads.get(sql) ?? 0) + 1
    this.#reads.set(sql, reads)
    const asked = sql.unsafe<[{ isHere: boolean }]>(IS_HERE, [id], { prepare: true })
    const reading = (async () => work(sql, names))()
    await allAnswered<unknown>([asked, reading])
    const [{ isHere }] = await asked
    const result = await reading
    if (reads % COUNTED_EVERY === 0) await endIfFull(sql)
    return isHere ? result : ELSEWHERE
  }

  #poolOf(node: ShardNode): Pool {
    const key = nameOf(node)
    const known = this.#pools.get(key)
    if (known !== undefined) return known
    const { connect, limit } = this.#nodeOf(node)
    const { connection, size } = this.#options
    const options = { size, limit, statementTimeoutMs: connection.statementTimeoutMs }
    const pool = new Pool(onClose => connect({ ...connection, isLocal: true, onClose }), options)
    this.#pools.set(key, pool)
    return pool
  }
}

const IS_HERE = `select exists (
  select from pg_dist_placement where shardid = $1 and groupid = (select groupid from pg_dist_local_group)
) as "isHere"`

async function endIfFull(sql: Sql): Promise<void> {
  const [{ count }] = await sql<[{ count: number }]>`select count(*)::int as count from pg_prepared_statements`
  if (count > MOST_STATEMENTS) await sql.end({ timeout: 1 })
}
