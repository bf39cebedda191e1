/** One lane's way to write by COPY: its connection, and when it is worth to try. */
import type { CopyConnection } from '../database/copy-connection.ts'
import { classifyFailure, isDivisionByZero, isUniqueViolation } from '../database/failure.ts'
import type { Logger } from '../log.ts'
import type { KnownFloors } from '../store/rankings/known-floors.ts'
import { type CopyBatch, CopyBatches } from '../store/write/copy-batch.ts'

/** Opens a connection for COPY; undefined where that cannot be had. */
export type OpenCopy = () => Promise<CopyConnection | undefined>

/** After a batch that could not be copied, as a trace was there or had moved, so many go by the statement: resends come in crowds. */
const STATEMENTS_AFTER_CONFLICT = 8

export class Copier {
  readonly #open: OpenCopy
  readonly #slot: number
  readonly #log: Logger
  readonly #batches: CopyBatches
  #connection: CopyConnection | undefined
  /** Batches that go by the statement before the next is copied; Infinity: this server cannot be copied to. */
  #statements = 0

  constructor(open: OpenCopy, slot: number, floors: KnownFloors, log: Logger) {
    this.#open = open
    this.#batches = new CopyBatches(floors)
    this.#slot = slot
    this.#log = log
  }

  get isPossible(): boolean {
    return this.#statements !== Number.POSITIVE_INFINITY
  }

  /** Whether the next batch should be copied, or is one of those that go by the statement. */
  isNext(): boolean {
    if (this.#statements === 0) return true
    this.#statements--
    return false
  }

  /** Whether there is a connection; rejects where the server cannot be reached. */
  async isReady(): Promise<boolean> {
    if (this.#connection === undefined || this.#connection.isDead) {
      this.#connection = await this.#open()
      if (this.#connection === undefined) this.#statements = Number.POSITIVE_INFINITY
    }
    return this.#connection !== undefined
  }

  /** Writes all or nothing; false: nothing, and the statement must sort out why. Rejects where the store refuses. */
  async write(batch: CopyBatch): Promise<boolean> {
    try {
      await this.#batches.write(this.#connection as CopyConnection, batch, this.#slot)
      return true
    } catch (error) {
      if (!isUniqueViolation(error) && !isDivisionByZero(error)) {
        if (classifyFailure(error) !== 'bug') throw error
        const operations = batch.traces.length + batch.changed.length
        this.#log.warn({ err: error, operations }, 'a batch could not be copied; the statement writes it')
      }
      this.#statements = STATEMENTS_AFTER_CONFLICT
      return false
    }
  }

  close(): void {
    this.#connection?.close()
  }
}
