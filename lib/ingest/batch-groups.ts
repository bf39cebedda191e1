/**
 * Which operations may share a batch. On one PostgreSQL all may. On a cluster (Citus) those of one shard: a transaction over
 * several shards is committed in two phases on each of their nodes, which costs more than batches that are smaller.
 *
 * States: unknown (nobody has asked the database yet; all may share), one (all may), spread (by shard). The shard of a
 * project that was not met before is looked up beside the work; until it is known the project has a group of its own.
 */
import type { Sql } from 'postgres'
import { isSpread, readShards } from '../store/server/shards.ts'

/** After so long shards are looked up anew: a project may have got one of its own. */
const RENEW_MS = 60_000

type Run = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>

export class BatchGroups {
  readonly #run: Run
  readonly #renewMs: number
  #state: 'unknown' | 'one' | 'spread' = 'unknown'
  #shards = new Map<number, number>()
  readonly #strange = new Set<number>()
  #isAtWork = false
  #renewAt = 0

  /** `run` gives a connection to read with. */
  constructor(run: Run, renewMs = RENEW_MS) {
    this.#run = run
    this.#renewMs = renewMs
  }

  get state(): 'unknown' | 'one' | 'spread' {
    return this.#state
  }

  /** The group of an operation on a project; undefined while all operations are one. */
  get groupOf(): ((operation: { readonly projectId: number }) => number) | undefined {
    if (this.#state !== 'spread') return undefined
    return ({ projectId }) => {
      const shard = this.#shards.get(projectId)
      if (shard !== undefined) return shard
      this.#strange.add(projectId)
      // No shard has such a number.
      return -projectId
    }
  }

  /**
   * Asks the database in the background for what is not known. To be called after a batch: then there is a connection that
   * does nothing. Where the database cannot be asked, the next call tries again.
   */
  learn(): void {
    if (this.#state === 'one' || this.#isAtWork) return
    if (performance.now() > this.#renewAt) for (const projectId of this.#shards.keys()) this.#strange.add(projectId)
    if (this.#state === 'spread' && this.#strange.size === 0) return
    this.#isAtWork = true
    const done = () => {
      this.#isAtWork = false
    }
    this.#run(sql => this.#ask(sql)).then(done, done)
  }

  async #ask(sql: Sql): Promise<void> {
    if (this.#state === 'unknown') this.#state = (await isSpread(sql)) ? 'spread' : 'one'
    if (this.#state === 'one') return
    const projectIds = [...this.#strange]
    for (const [projectId, shard] of await readShards(sql, projectIds)) this.#shards.set(projectId, shard)
    for (const projectId of projectIds) this.#strange.delete(projectId)
    this.#renewAt = performance.now() + this.#renewMs
  }
}
