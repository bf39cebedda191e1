/**
 * Reads of one project on a cluster (Citus), over a connection to the node that has its shard: at the cost of one
 * PostgreSQL. The coordinator would plan each statement anew, and the node once more (test/bench/RESULTS.md, "Reads on
 * a cluster").
 *
 * A shard may have moved since it was last asked where it is. So each read first asks the node whether the shard is
 * there, in the same go. If it is, all that was answered before the read began is there to be read, also where the
 * shard moves a moment later: its table stays as it was, or is gone, which is an error.
 */
import type { Sql } from 'postgres'
import type { ConnectOptions, Database } from '../database/database.ts'
import { classifyFailure, hasMoved, isUnreachable } from '../database/failure.ts'
import { Pool } from '../database/pool.ts'
import type { Client } from '../database/pooled/cancellation.ts'
import { PoolError } from '../database/pooled/pool-error.ts'
import { nameOf } from '../database/sockets/address.ts'
import { ELSEWHERE, type Near, type ProjectRead } from '../database/sql-access.ts'
import { allAnswered } from '../store/transactions.ts'
import type { Shard, ShardNode } from './shards.ts'

/** Says where shards are (lib/cluster/routes.ts). */
export interface Directory {
  /** Undefined if the shard is unknown or cannot be reached, and on one PostgreSQL. */
  shardOf(projectId: number): Shard | undefined
  /** Looks up the shards of these in the background, where they are unknown. */
  learn(projects: readonly { readonly projectId: number }[]): void
  /** Shards have moved. */
  forget(): void
  /** A node could not be reached. */
  avoid(node: ShardNode, error: unknown): void
}

export interface NearOptions {
  readonly connection: ConnectOptions
  /** The number of connections to each node. */
  readonly size: number
}

/**
 * A connection keeps the plans of its statements, which are others for each shard: 0.6 MB of PostgreSQL's memory for a
 * list. With more than so many statements it is closed, and another one begins without any. Where fewer than this are
 * asked for again and again, each is planned once.
 */
const MOST_STATEMENTS = 150
/** How often a connection is asked how many it has, in reads: to count them costs as much as a short read. */
const COUNTED_EVERY = 25

export class NearReads implements Near {
  readonly #nodeOf: Database['node']
  readonly #directory: Directory
  readonly #options: NearOptions
  readonly #pools = new Map<string, Pool>()
  /** How many reads each connection has taken. */
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
      // No place in line, or nobody who waits any more: that is no fault of the node.
      if ((error instanceof PoolError && error.code !== 'CONNECTION_LOST') || client?.signal.aborted) throw error
      if (classifyFailure(error) !== 'lost' && !isUnreachable(error)) throw error
      this.#directory.avoid(shard.node, error)
      return ELSEWHERE
    }
  }

  async end(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(pool => pool.end()))
  }

  /** An unknown shard is looked up for the next time. */
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
    const { statementTimeoutMs } = connection
    const pool = new Pool(onClose => connect({ ...connection, isLocal: true, onClose }), {
      size,
      statementTimeoutMs,
      limit
    })
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
