/**
 * Requests that a client sends ahead, without waiting for the answers to those before them: each is served when the answer
 * before it has been taken. So a connection has one reader of the database and one answer at a time, whatever it sends, and
 * what it changes is changed in the order in which it asked for it.
 */
import type { Socket } from 'node:net'
import type { Exchange } from './exchange.ts'
import type { UnsentAnswers } from './unsent-answers.ts'

/** What a request takes that waits, about. */
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

  /** Calls `start` when what was asked before on the same connection has been answered; never, where that is closed first. */
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

  /** What was asked last on a connection. */
  newest(socket: Socket): Exchange | undefined {
    return this.#newest.get(socket)
  }

  /** Calls `then` when all that was asked on the connection has been answered. */
  afterAll(socket: Socket, then: () => void): void {
    const newest = this.#newest.get(socket)
    if (newest === undefined || newest.response.closed) then()
    else newest.response.once('close', then)
  }

  /** Lets the next one begin when this one's answer has been taken. */
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
