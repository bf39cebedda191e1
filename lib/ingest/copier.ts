/** The connection that one lane uses for COPY. It is opened when it is needed, and again after it has died. */
import type { CopyConnection } from '../database/copy-connection.ts'
import { isDivisionByZero, isUniqueViolation } from '../database/failure.ts'
import type { KnownFloors } from '../store/rankings/known-floors.ts'
import { type Batch, CopyBatches } from '../store/write/copy-batch.ts'

/** Opens a connection. Rejects if PostgreSQL cannot be reached. */
export type OpenCopy = () => Promise<CopyConnection>

export class Copier {
  readonly #open: OpenCopy
  /** The row of project_totals in which this lane counts; the other lanes count in other rows. */
  readonly #slot: number
  readonly #batches: CopyBatches
  #connection: CopyConnection | undefined

  constructor(open: OpenCopy, slot: number, floors: KnownFloors) {
    this.#open = open
    this.#slot = slot
    this.#batches = new CopyBatches(floors)
  }

  /**
   * Writes the whole batch or nothing. Resolves to false, having written nothing, if a new trace exists already, if
   * the trace of a change is not in the assumed state, or if the allowance of a trial account is used up. Rejects if
   * the connection breaks or PostgreSQL refuses the write for another reason.
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
