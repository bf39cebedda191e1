/**
 * Which operations may share a batch. On one PostgreSQL all may. On a cluster (Citus) those of one project: a transaction over
 * several nodes is committed in two phases on each of them, which costs more than batches that are smaller.
 *
 * States: unknown (nobody has asked the database yet; batches are of one project), one (all may share), spread (by project).
 */
import type { Sql } from 'postgres'
import { isSpread } from '../store/server/shards.ts'

type Run = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>

const projectOf = ({ projectId }: { readonly projectId: number }): number => projectId

export class BatchGroups {
  readonly #run: Run
  #state: 'unknown' | 'one' | 'spread' = 'unknown'
  #isAtWork = false

  /** `run` gives a connection to read with. */
  constructor(run: Run) {
    this.#run = run
  }

  /** The group of an operation; undefined if all operations are one. */
  get groupOf(): typeof projectOf | undefined {
    return this.#state === 'one' ? undefined : projectOf
  }

  /**
   * Asks the database in the background, unless it has answered. To be called after a batch: then there is a connection that
   * does nothing. Where the database cannot be asked, the next call tries again.
   */
  learn(): void {
    if (this.#state !== 'unknown' || this.#isAtWork) return
    this.#isAtWork = true
    const done = () => {
      this.#isAtWork = false
    }
    this.#run(sql => this.#ask(sql)).then(done, done)
  }

  async #ask(sql: Sql): Promise<void> {
    this.#state = (await isSpread(sql)) ? 'spread' : 'one'
  }
}
