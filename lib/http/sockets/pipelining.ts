/**
 * Orders pipelined requests. A request is served only after the previous response is fully sent, so each connection has
 * only one query and one response in flight at a time, and changes are made in the order in which the client sent them.
 */
import type { Socket } from 'node:net'
import type { Exchange } from '../exchange.ts'
import type { UnsentAnswers } from './unsent-answers.ts'

/** Estimated memory of a waiting request, in bytes. */
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

  /**
   * Calls the `start` callback after the connection's earlier requests are answered. If the connection closes first,
   * `start` is never called.
   */
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

  newest(socket: Socket): Exchange | undefined {
    return this.#newest.get(socket)
  }

  /** Calls the `then` callback after all requests on the connection are answered. */
  afterAll(socket: Socket, then: () => void): void {
    const newest = this.#newest.get(socket)
    if (newest === undefined || newest.response.closed) then()
    else newest.response.once('close', then)
  }

  /** Starts the connection's next request when the response to the previous request is fully sent. */
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
