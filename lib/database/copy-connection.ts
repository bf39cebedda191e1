/**
 * A connection that writes batches by COPY. All statements and their rows are sent in one go, and answered together.
 * The driver opens the connection and authenticates; then this class takes the socket over. The driver's own COPY is
 * not used, because it waits for an answer before every statement and its rows, and never answers if a row is refused
 * (postgres 3.4.9, issue 1173).
 *
 * States: open; busy (one batch is under way); dead (the socket has closed; a dead connection is never used again).
 */
import type { Socket } from 'node:net'
import type { ConnectOptions, Database } from './database.ts'
import { classifyFailure } from './failure.ts'
import { HungCheck, pidOf, TICK_MS } from './pooled/hung-connection.ts'
import { PoolError } from './pooled/pool-error.ts'
import { openSession } from './session/open-session.ts'

/** Type and length of a message of the protocol. */
const HEADER_BYTES = 5
const READY_FOR_QUERY = 'Z'.charCodeAt(0)
const ERROR_RESPONSE = 'E'.charCodeAt(0)
/** The state in READY_FOR_QUERY of a transaction that has failed, and must be rolled back. */
const FAILED = 'E'.charCodeAt(0)
const ROLLBACK = Buffer.from('Q\0\0\0\x0drollback\0', 'latin1')

/** An error of PostgreSQL, in the shape of the driver's errors (failure.ts). */
class CopyError extends Error {
  override readonly name = 'PostgresError'
  readonly code: string
  readonly severity: string
  constructor(fields: ReadonlyMap<string, string>) {
    super(fields.get('M') ?? 'PostgreSQL refused a batch')
    this.code = fields.get('C') ?? ''
    this.severity = fields.get('V') ?? ''
  }
}

/** The connection has closed. Whether the batch under way was committed is unknown. */
class ConnectionLost extends Error {
  readonly code = 'CONNECTION_CLOSED'
  constructor(cause?: unknown) {
    super('the connection closed before PostgreSQL answered', { cause })
  }
}

interface Batch {
  resolve(): void
  reject(error: unknown): void
}

export class CopyConnection {
  /** Resolves when it has closed, at either end. */
  readonly closed: Promise<void>
  readonly #socket: Socket
  #unread: Buffer = Buffer.alloc(0)
  #error: CopyError | undefined
  #batch: Batch | undefined
  #isWriting = false
  /** How many more times PostgreSQL will say that it is ready. */
  #answers = 0
  #dead = false

  private constructor(socket: Socket, pid: number | undefined, hungCheck: HungCheck) {
    this.#socket = socket
    const clock = setInterval(() => void this.#giveUpIfHung(hungCheck, pid), TICK_MS).unref()
    socket.on('data', received => this.#receive(received))
    socket.on('error', error => this.#die(error))
    this.closed = new Promise(resolve => {
      const close = () => {
        clearInterval(clock)
        this.#die()
        resolve()
      }
      if (socket.closed) close()
      else socket.on('close', close)
    })
  }

  /** Opens a connection. Rejects as the Pool does if the server cannot be reached or does not let us in. */
  static async open(connect: Database['connect'], options: ConnectOptions): Promise<CopyConnection> {
    let socket: Socket | undefined
    let own: ListenersBefore | undefined
    const sql = connect(options, opened => {
      socket = opened
      own = listenersOf(opened)
    })
    const first = openSession(sql)
    try {
      await first
    } catch (error) {
      socket?.destroy()
      throw classifyFailure(error) === 'lost'
        ? new PoolError('NOT_CONNECTED', 'No connection could be had', error)
        : error
    }
    if (socket === undefined || own === undefined) throw new Error('the driver answered without a socket')
    takeFromDriver(socket, own)
    const hungCheck = new HungCheck(onClose => connect({ ...options, onClose }), options.statementTimeoutMs)
    return new CopyConnection(socket, pidOf(first), hungCheck)
  }

  /** Whether a batch is under way. */
  get isBusy(): boolean {
    return this.#batch !== undefined
  }

  get isDead(): boolean {
    return this.#dead
  }

  /**
   * Sends messages that make up one transaction. PostgreSQL says `answers` times that it is ready. Resolves when
   * PostgreSQL has committed everything; rejects with the first error when it has undone everything. Rows that
   * statements return are ignored. The caller must not change the memory of the messages before the promise is
   * settled.
   */
  send(messages: Buffer, answers = 1): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#dead) throw new ConnectionLost()
      if (this.#batch !== undefined) throw new Error('a batch is under way')
      this.#batch = { resolve, reject }
      this.#isWriting = true
      this.#answers = answers
      this.#socket.write(messages, () => {
        this.#isWriting = false
        if (this.#answers === 0) this.#settle()
      })
    })
  }

  close(): void {
    this.#dead = true
    this.#socket.destroy()
  }

  #receive(received: Buffer): void {
    let bytes = this.#unread.length === 0 ? received : Buffer.concat([this.#unread, received])
    while (bytes.length >= HEADER_BYTES) {
      const length = 1 + bytes.readUInt32BE(1)
      if (bytes.length < length) break
      if (bytes[0] === ERROR_RESPONSE) this.#error ??= new CopyError(readFields(bytes.subarray(HEADER_BYTES, length)))
      else if (bytes[0] === READY_FOR_QUERY) this.#answered(bytes[HEADER_BYTES] === FAILED)
      bytes = bytes.subarray(length)
    }
    this.#unread = bytes
  }

  /**
   * PostgreSQL has said that it is ready. It refuses a batch before it has read all of it, so the rest may still be on
   * its way from the caller's memory: then the batch is settled later.
   */
  #answered(hasFailed: boolean): void {
    if (this.#answers === 1 && hasFailed) {
      this.#socket.write(ROLLBACK)
      return
    }
    this.#answers--
    if (this.#answers === 0 && !this.#isWriting) this.#settle()
  }

  #settle(): void {
    const [batch, error] = [this.#batch, this.#error]
    this.#batch = undefined
    this.#error = undefined
    if (error === undefined) batch?.resolve()
    else batch?.reject(error)
  }

  async #giveUpIfHung(hungCheck: HungCheck, pid: number | undefined): Promise<void> {
    const batch = this.#batch
    if ((await hungCheck.hangs(batch, pid)) && batch !== undefined && batch === this.#batch) this.#socket.destroy()
  }

  #die(error?: unknown): void {
    this.#dead = true
    const batch = this.#batch
    this.#batch = undefined
    // A server that shuts down sends the reason before it closes.
    batch?.reject(this.#error ?? new ConnectionLost(error))
  }
}

/** The fields of an error message; each is a letter and a text. */
function readFields(content: Buffer): Map<string, string> {
  const texts = content.toString('utf8').split('\0')
  return new Map(texts.filter(text => text !== '').map(text => [text.charAt(0), text.slice(1)]))
}

/** The listeners of a socket, by event. */
type ListenersBefore = ReadonlyMap<string, readonly unknown[]>
const DRIVER_EVENTS = ['data', 'drain', 'error', 'close']
const listenersOf = (socket: Socket): ListenersBefore =>
  new Map(DRIVER_EVENTS.map(event => [event, socket.rawListeners(event)]))

/** Removes the driver's listeners. Those that the socket had before the driver got it are node's own, and stay. */
function takeFromDriver(socket: Socket, before: ListenersBefore): void {
  for (const [event, own] of before) {
    for (const listener of socket.rawListeners(event)) {
      if (!own.includes(listener)) socket.off(event, listener as () => void)
    }
  }
}
