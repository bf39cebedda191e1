/**
 * A connection on which batches are copied: the statements, all the rows right behind them, and one answer. The driver's
 * own COPY asks back before every statement; this way PostgreSQL has a whole batch at hand, and the limit that is
 * measured is PostgreSQL's own. Good rows only: a refused one ends the run.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import postgres from 'postgres'
import type { SocketTarget } from '../../lib/database/connection.ts'

/** Type and length of a message of the protocol. */
const HEADER_BYTES = 5
const READY_FOR_QUERY = 'Z'.charCodeAt(0)
const ERROR_RESPONSE = 'E'.charCodeAt(0)

function message(type: 'Q' | 'c' | 'd', content: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.write(type, 'latin1')
  header.writeUInt32BE(HEADER_BYTES - 1 + content.length, 1)
  return Buffer.concat([header, content])
}

/** Several statements in one message are one transaction. */
export const queryMessage = (statements: string): Buffer => message('Q', Buffer.from(`${statements}\0`))
export const copyData = (lines: Buffer): Buffer => message('d', lines)
export const copyDone = (): Buffer => message('c', Buffer.alloc(0))

export class Wire {
  readonly #socket: Socket
  #unread: Buffer = Buffer.alloc(0)

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  /** The driver opens the connection and authenticates; from then on the socket is ours. */
  static async open({ socketDir, port, ...login }: SocketTarget): Promise<Wire> {
    const socket = connect(`${socketDir}/.s.PGSQL.${port}`)
    await once(socket, 'connect')
    // The types do not know this setting.
    const options = { ...login, max: 1, max_lifetime: null, fetch_types: false, socket: () => socket }
    const sql = postgres(options as unknown as postgres.Options<Record<string, never>>)
    await sql`select`
    socket.removeAllListeners()
    return new Wire(socket)
  }

  /** Sends a query message with what belongs to it, and resolves when PostgreSQL has done it all. */
  send(bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.removeAllListeners()
      this.#socket.on('data', received => {
        try {
          if (this.#isDone(received)) resolve()
        } catch (error) {
          reject(error)
        }
      })
      this.#socket.on('error', reject)
      this.#socket.on('close', () => reject(new Error('PostgreSQL closed the connection')))
      this.#socket.write(bytes)
    })
  }

  close(): void {
    this.#socket.removeAllListeners().on('error', () => {})
    this.#socket.destroy()
  }

  #isDone(received: Buffer): boolean {
    let bytes = this.#unread.length === 0 ? received : Buffer.concat([this.#unread, received])
    let done = false
    while (bytes.length >= HEADER_BYTES) {
      const length = 1 + bytes.readUInt32BE(1)
      if (bytes.length < length) break
      if (bytes[0] === ERROR_RESPONSE)
        throw new Error(bytes.toString('utf8', HEADER_BYTES, length).replaceAll('\0', ' '))
      done ||= bytes[0] === READY_FOR_QUERY
      bytes = bytes.subarray(length)
    }
    this.#unread = bytes
    return done
  }
}
