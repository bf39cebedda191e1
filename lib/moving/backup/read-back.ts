/**
 * Reads a project back while it is being restored. The traces of a backup are in the order of an export, so everything
 * up to the last trace that is stored can be read, hashed and counted while later traces are still being prepared. This
 * takes hardly longer than the restore alone.
 */
import { createHash } from 'node:crypto'
import type { Pool } from '../../database/pool.ts'
import { exportPages } from '../export-project.ts'
import { addSums, noSums } from './format.ts'

/** Number of stored traces that are read together: a few pages, so that hardly any page is short. */
const STRETCH = 1000

export class ReadBack {
  readonly #pool: Pool
  readonly #projectId: number
  readonly #stretch: number
  readonly #hash = createHash('sha256')
  readonly #sums = noSums()
  /** The last trace that was read. */
  #last: string | undefined
  #waiting = 0
  #reading: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(pool: Pool, projectId: number, stretch = STRETCH) {
    this.#pool = pool
    this.#projectId = projectId
    this.#stretch = stretch
  }

  /** Notes that this trace and all earlier traces of the backup are stored. */
  stored(traceId: string | undefined): void {
    this.#waiting++
    if (traceId === undefined || this.#waiting < this.#stretch) return
    if (this.#reading !== undefined || this.#failure !== undefined) return
    this.#waiting = 0
    this.#reading = this.#read(traceId)
      .catch(error => {
        this.#failure = { error }
      })
      .finally(() => {
        this.#reading = undefined
      })
  }

  /** Resolves when no statement is running. */
  async pause(): Promise<void> {
    await this.#reading
  }

  /** Reads the rest, and returns the sums and the hash of the whole project. */
  async finish() {
    await this.pause()
    if (this.#failure !== undefined) throw this.#failure.error
    await this.#read(undefined)
    return { ...this.#sums, sha256: this.#hash.digest('hex') }
  }

  async #read(until: string | undefined): Promise<void> {
    await this.#pool.run(async sql => {
      const between = { ...(this.#last && { after: this.#last }), ...(until && { until }) }
      for await (const page of exportPages(sql, this.#projectId, between)) {
        this.#hash.update(page.lines)
        addSums(this.#sums, page)
      }
    })
    this.#last = until
  }
}
