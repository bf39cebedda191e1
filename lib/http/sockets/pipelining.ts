/**
 * Orders the requests of a client that sends further ones before the earlier are answered. A request is served when
 * the client has taken the answer before it. So a connection has only one query and one answer at a time, whatever the
 * client sends, and its changes are made in the order in which it asked for them.
 */
import type { Socket } from 'node:net'
import type { Exchange } from '../exchange.ts'
import type { UnsentAnswers } from './unsent-answers.ts'

/** An estimate of the memory that a waiting request takes. */
const REQUEST_BYTES = 8192

interface Place {
  readonly exchange: Exchange
  start(): void
}

export class Pipelining {
  readonly #unsent: Pick<UnsentAnswers, 'countAhead'>
  readonly #newest = new WeakMap<Socket, Exchange>()
  readonly #waiting = new WeakMap<Socket, Place[]>()

  constructor(unsent: Pick<UnsentAnswers, 'countAhead'>) {
    this.#unsent = unsent
  }

  /** Calls `start` when all earlier requests of the connection are answered; never, if the connection closes before. */
  enter(exchange: Exchange, start: () => void): void {
    const { socket } = exchange.request
    const before = this.#newest.get(socket)
    this.#newest.set(socket, exchange)
    if (before === undefined || before.response.closed) {
      start()
      return
    }
    const waiting = this.#waiting.get(socket)
    if (waiting !== undefined) {
      waiting.push({ exchange, start })
    } else {
      this.#waiting.set(socket, [{ exchange, start }])
      this.#follow(socket, before)
    }
    this.#unsent.countAhead(socket, REQUEST_BYTES)
  }

  /** The newest request of a connection. */
  newest(socket: Socket): Exchange | undefined {
    return this.#newest.get(socket)
  }

  /** Calls `then` when all requests of the connection are answered. */
  afterAll(socket: Socket, then: () => void): void {
    const newest = this.#newest.get(socket)
    if (newest === undefined || newest.response.closed) then()
    else newest.response.once('close', then)
  }

  /** Starts the next request of the connection when the client has taken the answer to this one. */
  #follow(socket: Socket, { response }: Exchange): void {
    response.once('close', () => {
      const waiting = this.#waiting.get(socket) ?? []
      const next = waiting.shift()
      if (socket.destroyed || next === undefined) return
      if (waiting.length === 0) this.#waiting.delete(socket)
      else this.#follow(socket, next.exchange)
      this.#unsent.countAhead(socket, -REQUEST_BYTES)
      next.start()
    })
  }
}
