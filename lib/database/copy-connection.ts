/**
 * A connection that writes batches with COPY. All statements and rows are sent at once, without waiting for responses.
 * The driver opens and authenticates the connection; then this class takes over the socket. The driver's own COPY
 * support waits before each statement and its rows, and the promise that the driver returns never settles if a row is
 * rejected (postgres 3.4.9, issue 1173).
 *
 * A connection is open, busy (a batch is in flight) or dead (the socket has closed). A dead connection is never reused.
 */
import type { Socket } from 'node:net'
import type { ConnectOptions, Database } from './database.ts'
import { classifyFailure, PoolError } from './failure.ts'
import { HungCheck, pidOf, TICK_MS } from './pooled/hung-connection.ts'
import { openSession } from './session/open-session.ts'
import { stateOfCopy } from './spread.ts'

/** Size of a protocol message's type and length fields, in bytes. */
const HEADER_BYTES = 5
const READY_FOR_QUERY = 'Z'.charCodeAt(0)
const ERROR_RESPONSE = 'E'.charCodeAt(0)
/** Status in READY_FOR_QUERY that reports a failed transaction, which must be rolled back. */
const FAILED = 'E'.charCodeAt(0)
const ROLLBACK = Buffer.from('Q\0\0\0\x0drollback\0', 'latin1')

/** A PostgreSQL error in the shape of a driver error (failure.ts). */
class CopyError extends Error {
  override readonly name = 'PostgresError'
  readonly code: string
  readonly severity: string
  constructor(fields: ReadonlyMap<string, string>) {
    super(fields.get('M') ?? 'PostgreSQL rejected a batch')
    this.code = stateOfCopy(fields.get('C') ?? '', this.message)
    this.severity = fields.get('V') ?? ''
  }
}

/** The connection closed. Whether the batch in flight was committed is unknown. */
class ConnectionLost extends Error {
  readonly code = 'CONNECTION_CLOSED'
  constructor(cause?: unknown) {
    super('the connection closed before PostgreSQL responded', { cause })
  }
}

interface Batch {
  resolve(): void
  reject(error: unknown): void
}

export class CopyConnection {
  /** Resolves when either end has closed the connection. */
  readonly closed: Promise<void>
  readonly #socket: Socket
  #unread: Buffer = Buffer.alloc(0)
  #error: CopyError | undefined
  #batch: Batch | undefined
  #isWriting = false
  /** Number of READY_FOR_QUERY messages still expected. */
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

  /** Opens a connection. Rejects as the Pool does if the server is unreachable or rejects the login. */
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
        ? new PoolError('NOT_CONNECTED', 'No connection was available', error)
        : error
    }
    if (socket === undefined || own === undefined) throw new Error('the driver returned no socket')
    takeFromDriver(socket, own)
    const hungCheck = new HungCheck(onClose => connect({ ...options, onClose }), options.statementTimeoutMs)
    return new CopyConnection(socket, pidOf(first), hungCheck)
  }

  get isBusy(): boolean {
    return this.#batch !== undefined
  }

  get isDead(): boolean {
    return this.#dead
  }

  /**
   * Sends the messages of one transaction and expects `answers` READY_FOR_QUERY messages in response. Resolves when
   * PostgreSQL has committed everything; rejects with the first error when PostgreSQL has rolled everything back.
   * Result rows are ignored. The caller must not modify the messages' memory before the promise settles.
   */
  send(messages: Buffer, answers = 1): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#dead) throw new ConnectionLost()
      if (this.#batch !== undefined) throw new Error('a batch is already in flight')
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
   * Handles a READY_FOR_QUERY message. PostgreSQL can reject a batch before reading all of it. If the remainder is
   * still being sent from the caller's memory, the batch settles after the write completes.
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
    // A server that is shutting down sends the reason before it closes the connection.
    batch?.reject(this.#error ?? new ConnectionLost(error))
  }
}

/** Returns an error message's fields, each a letter and a string. */
function readFields(content: Buffer): Map<string, string> {
  const texts = content.toString('utf8').split('\0')
  return new Map(texts.filter(text => text !== '').map(text => [text.charAt(0), text.slice(1)]))
}

type ListenersBefore = ReadonlyMap<string, readonly unknown[]>
const DRIVER_EVENTS = ['data', 'drain', 'error', 'close']
const listenersOf = (socket: Socket): ListenersBefore =>
  new Map(DRIVER_EVENTS.map(event => [event, socket.rawListeners(event)]))

/** Removes the driver's listeners. Keeps earlier listeners, which are Node's own. */
function takeFromDriver(socket: Socket, before: ListenersBefore): void {
  for (const [event, own] of before) {
    for (const listener of socket.rawListeners(event)) {
      if (!own.includes(listener)) socket.off(event, listener as () => void)
    }
  }
}
