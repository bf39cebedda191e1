/**
 * Requests that a client sends ahead, without waiting for the answers to those before them: each is served when the answer
 * before it has been taken. So a connection has one reader of the database and one answer at a time, whatever it sends, and
 * what it changes is changed in the order in which it asked for it.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Unread } from './unread.ts'

/** What a request takes that waits, about. */
const REQUEST_BYTES = 8192

interface Place {
  readonly response: ServerResponse
  start(): void
}

export class Line {
  readonly #unread: Pick<Unread, 'countAhead'>
  readonly #newest = new WeakMap<Socket, ServerResponse>()
  readonly #waiting = new WeakMap<Socket, Place[]>()

  constructor(unread: Pick<Unread, 'countAhead'>) {
    this.#unread = unread
  }

  /** Calls `start` when what was asked before on the same connection has been answered; never, where that is closed first. */
  enter(socket: Socket, response: ServerResponse, start: () => void): void {
    const before = this.#newest.get(socket)
    this.#newest.set(socket, response)
    if (before === undefined || before.closed) {
      start()
      return
    }
    const waiting = this.#waiting.get(socket)
    if (waiting !== undefined) {
      waiting.push({ response, start })
    } else {
      this.#waiting.set(socket, [{ response, start }])
      this.#follow(socket, before)
    }
    this.#unread.countAhead(socket, REQUEST_BYTES)
  }

  /** Lets the next one begin when this answer has been taken. */
  #follow(socket: Socket, response: ServerResponse): void {
    response.once('close', () => {
      const waiting = this.#waiting.get(socket) ?? []
      const next = waiting.shift()
      if (socket.destroyed || next === undefined) return
      if (waiting.length === 0) this.#waiting.delete(socket)
      else this.#follow(socket, next.response)
      this.#unread.countAhead(socket, -REQUEST_BYTES)
      next.start()
    })
  }
}
