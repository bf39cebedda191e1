/** One lane's connection for COPY: opened when it is needed, and again when it has died. */
import type { CopyConnection } from '../database/copy-connection.ts'
import { isDivisionByZero, isUniqueViolation } from '../database/failure.ts'
import type { KnownFloors } from '../store/rankings/known-floors.ts'
import { type Batch, CopyBatches } from '../store/write/copy-batch.ts'

/** Rejects where the server cannot be reached. */
export type OpenCopy = () => Promise<CopyConnection>

export class Copier {
  readonly #open: OpenCopy
  /** The slot of project_totals that this lane alone should use. */
  readonly #slot: number
  readonly #batches: CopyBatches
  #connection: CopyConnection | undefined

  constructor(open: OpenCopy, slot: number, floors: KnownFloors) {
    this.#open = open
    this.#slot = slot
    this.#batches = new CopyBatches(floors)
  }

  /**
   * Writes all or nothing; false: nothing, since a new trace is there already, a changed one is not as it was thought to be,
   * or an allowance is used up. Rejects where the connection is lost or PostgreSQL refuses.
   */
  async write(batch: Batch): Promise<boolean> {
    if (this.#connection === undefined || this.#connection.isDead) this.#connection = await this.#open()
    try {
      await this.#batches.write(this.#connection, batch, this.#slot)
      return true
    } catch (error) {
      if (isUniqueViolation(error) || isDivisionByZero(error)) return false
      throw error
    }
  }

  close(): void {
    this.#connection?.close()
  }
}
