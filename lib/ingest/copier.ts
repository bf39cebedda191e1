/**
 * Manages one lane's COPY connection to one server. The connection is opened on demand, and reopened if it has died or
 * another holder has taken its slot.
 */
import type { CopyConnection } from '../database/copy-connection.ts'
import { isDivisionByZero, isUniqueViolation } from '../database/failure.ts'
import type { ConnectionLimit, Holder } from '../database/pooled/connection-limit.ts'
import type { Batch, CopyBatches } from '../store/write/copy-batch.ts'
import { CopyMessages } from '../store/write/copy-messages.ts'

export interface CopyServer {
  /** Opens a connection. Rejects if PostgreSQL is unreachable. */
  open(): Promise<CopyConnection>
  readonly limit: ConnectionLimit
}

export class Copier implements Holder {
  readonly #open: () => Promise<CopyConnection>
  readonly #limit: ConnectionLimit
  /** The project_totals row that this lane updates. Each lane has its own row. */
  readonly #slot: number
  readonly #batches: CopyBatches
  readonly #givenUp = new WeakSet<CopyConnection>()
  #connection: CopyConnection | undefined
  #idleSince: number | undefined

  /** Copiers may share `batches` if only one copier writes at a time. */
  constructor({ open, limit }: CopyServer, slot: number, batches: CopyBatches) {
    this.#open = open
    this.#limit = limit
    this.#slot = slot
    this.#batches = batches
    limit.join(this)
  }

  get idleSince(): number | undefined {
    return this.#connection?.isDead === false ? this.#idleSince : undefined
  }

  async closeIdle(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    this.#idleSince = undefined
    if (connection === undefined) return
    this.#givenUp.add(connection)
    connection.close()
    await this.#limit.leaveAfter(connection.closed)
  }

  /**
   * Writes the whole batch or nothing. Resolves to false, with nothing written, if a new trace already exists, a
   * changed trace is not in the assumed state, or a trial account is used up. Rejects if the connection breaks, or if
   * PostgreSQL rejects the write for any other reason.
   */
  async write(batch: Batch): Promise<boolean> {
    try {
      await this.#use(connection => this.#batches.write(connection, batch, this.#slot))
      return true
    } catch (error) {
      if (isUniqueViolation(error) || isDivisionByZero(error)) return false
      throw error
    }
  }

  /** Runs a statement that returns no rows. */
  check(statement: string): Promise<void> {
    const messages = new CopyMessages()
    messages.query([statement])
    return this.#use(connection => connection.send(messages.written))
  }

  close(): void {
    this.#limit.part(this)
    void this.closeIdle()
  }

  async #use(work: (connection: CopyConnection) => Promise<unknown>): Promise<void> {
    const connection = await this.#connect()
    try {
      await work(connection)
    } finally {
      this.#idleSince = performance.now()
      if (this.#limit.isWanted) void this.closeIdle()
    }
  }

  async #connect(): Promise<CopyConnection> {
    this.#idleSince = undefined
    if (this.#connection?.isDead === false) return this.#connection
    const connection = await this.#limit.open(this.#open)
    this.#connection = connection
    void connection.closed.then(() => {
      // closeIdle() frees the slot of a connection that it has given up.
      if (this.#givenUp.has(connection)) return
      if (this.#connection === connection) this.#connection = undefined
      this.#limit.leave()
    })
    return connection
  }
}
