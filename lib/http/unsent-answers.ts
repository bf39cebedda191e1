/**
 * What waits in this process's memory because clients do not read: answers that do not fit into the kernel's buffers, and
 * requests that were sent ahead of them (lib/http/pipelining.ts). A connection that takes nothing of its answer for a while is
 * closed; and where all that waits is too much, so is the one on which nothing has moved for longest.
 */
import type { Socket } from 'node:net'

export interface Bounds {
  /** Bytes of all that waits. */
  readonly bytes: number
  /** Of what one connection has sent ahead. */
  readonly aheadBytes: number
  /** How long a connection may take nothing of the answer that waits for it. */
  readonly idleMs: number
}

const BOUNDS: Bounds = { bytes: 128 * 1024 * 1024, aheadBytes: 16 * 1024 * 1024, idleMs: 20_000 }
/** How often connections are looked at in the time that they have. Time in which this process stands still is not theirs. */
const LOOKS = 20

/** Of node's http.ServerResponse. */
interface Answer {
  readonly closed: boolean
  readonly writableEnded: boolean
  /** What was written and not yet taken. */
  readonly writableLength: number
  on(event: 'drain' | 'close', listener: () => void): unknown
}

/** What waits on one connection. */
interface Waiting {
  /** An answer is there to be taken. */
  answers: number
  bytes: number
  aheadBytes: number
  /** At which look an answer began, or a part of one was taken. */
  movedAt: number
}

export class UnsentAnswers {
  readonly #bounds: Bounds
  readonly #clock: NodeJS.Timeout
  /** The connection on which nothing has moved for longest comes first. */
  readonly #waiting = new Map<Socket, Waiting>()
  /** Whose end is listened for. */
  readonly #known = new WeakSet<Socket>()
  #bytes = 0
  #looks = 0

  constructor(bounds: Partial<Bounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds }
    this.#clock = setInterval(() => this.#closeIdle(), this.#bounds.idleMs / LOOKS).unref()
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Is given every answer once it has begun to go out, and how many bytes it keeps until all of it is taken. */
  watch(socket: Socket, answer: Answer, bytes: number): void {
    const isTaken = answer.writableEnded && answer.writableLength === 0
    if (isTaken || answer.closed || socket.destroyed) return
    const kept = Math.max(bytes, answer.writableLength, 1)
    const waiting = this.#move(socket)
    waiting.answers++
    this.#count(socket, waiting, kept)
    answer.on('drain', () => this.#move(socket))
    answer.on('close', () => {
      waiting.answers--
      this.#count(socket, waiting, -kept)
    })
    this.#makeRoom(socket)
  }

  /** Is told what a request takes that waits for the answers before it, and with a minus when it no longer does. */
  countAhead(socket: Socket, bytes: number): void {
    if (socket.destroyed) return
    const waiting = this.#waiting.get(socket) ?? this.#move(socket)
    waiting.aheadBytes += bytes
    this.#count(socket, waiting, bytes)
    if (waiting.aheadBytes > this.#bounds.aheadBytes) this.#close(socket)
    this.#makeRoom(socket)
  }

  close(): void {
    clearInterval(this.#clock)
  }

  #move(socket: Socket): Waiting {
    if (!this.#known.has(socket)) {
      this.#known.add(socket)
      socket.once('close', () => this.#forget(socket))
    }
    const waiting = this.#waiting.get(socket) ?? { answers: 0, bytes: 0, aheadBytes: 0, movedAt: 0 }
    waiting.movedAt = this.#looks
    this.#waiting.delete(socket)
    this.#waiting.set(socket, waiting)
    return waiting
  }

  #forget(socket: Socket): void {
    this.#bytes -= this.#waiting.get(socket)?.bytes ?? 0
    this.#waiting.delete(socket)
  }

  #count(socket: Socket, waiting: Waiting, bytes: number): void {
    if (this.#waiting.get(socket) !== waiting) return
    waiting.bytes += bytes
    this.#bytes += bytes
    if (waiting.bytes === 0) this.#waiting.delete(socket)
  }

  #closeIdle(): void {
    this.#looks++
    for (const [socket, waiting] of this.#waiting) {
      if (this.#looks - waiting.movedAt <= LOOKS) return
      if (waiting.answers > 0) this.#close(socket)
    }
  }

  /** What has begun last may go out, however large it is. */
  #makeRoom(newest: Socket): void {
    for (const socket of this.#waiting.keys()) {
      if (this.#bytes <= this.#bounds.bytes) return
      if (socket !== newest) this.#close(socket)
    }
  }

  #close(socket: Socket): void {
    this.#forget(socket)
    socket.destroy()
  }
}
