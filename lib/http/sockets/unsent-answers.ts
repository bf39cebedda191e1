/**
 * Bounds the memory that clients use up by not reading their answers: answers that do not fit into the kernel's
 * buffers, and requests that wait behind such answers (lib/http/sockets/pipelining.ts). A connection that takes nothing
 * of its answer for a while is closed. If too much waits in all, connections of the party (project) that has most
 * waiting are closed, first those on which nothing has moved for longest.
 */
import type { Socket } from 'node:net'

export interface Bounds {
  /** The bytes that may wait on all connections together. */
  readonly bytes: number
  /** The bytes of requests that may wait on one connection. */
  readonly aheadBytes: number
  /** How long a connection may take nothing of the answer that waits for it. */
  readonly idleMs: number
}

const BOUNDS: Bounds = { bytes: 128 * 1024 * 1024, aheadBytes: 16 * 1024 * 1024, idleMs: 20_000 }
/**
 * How often connections are looked at within idleMs. Looks are counted instead of time, so that a process that was
 * stopped for a while does not blame its clients for that.
 */
const LOOKS = 20
/**
 * An answer counts as not being taken if its client took nothing of it for this many looks. A server that stops does
 * not wait for such an answer.
 */
const STILL_LOOKS = 3

/** The parts of node's http.ServerResponse that are used here. */
interface Answer {
  readonly closed: boolean
  readonly writableEnded: boolean
  /** The bytes that were written and not yet taken. */
  readonly writableLength: number
  on(event: 'drain' | 'close', listener: () => void): unknown
}

/** The unsent answers and waiting requests of one connection. `bytes` counts both. */
interface Waiting {
  /** How many answers are not wholly taken. */
  answers: number
  bytes: number
  aheadBytes: number
  /** Whose answers they are: a project, or undefined for all that is about none. */
  party: number | undefined
  /** The number of the look at which an answer last began, or a part of one was taken. */
  movedAt: number
}

export class UnsentAnswers {
  readonly #bounds: Bounds
  readonly #clock: NodeJS.Timeout
  /** The connections, with the one on which nothing has moved for longest first. */
  readonly #waiting = new Map<Socket, Waiting>()
  /** The connections whose end is listened for. */
  readonly #known = new WeakSet<Socket>()
  /** The bytes of each party that has any. */
  readonly #parties = new Map<number | undefined, number>()
  #bytes = 0
  #looks = 0

  constructor(bounds: Partial<Bounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds }
    this.#clock = setInterval(() => this.#closeIdle(), this.#bounds.idleMs / LOOKS).unref()
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether a client is taking an answer. */
  get isMoving(): boolean {
    for (const { answers, movedAt } of this.#waiting.values()) {
      if (answers > 0 && this.#looks - movedAt <= STILL_LOOKS) return true
    }
    return false
  }

  /** Watches an answer that has begun to go out. `bytes` is the memory that it takes until all of it is taken. */
  watch(socket: Socket, answer: Answer, bytes: number, party?: number): void {
    const isTaken = answer.writableEnded && answer.writableLength === 0
    if (isTaken || answer.closed || socket.destroyed) return
    const kept = Math.max(bytes, answer.writableLength, 1)
    const waiting = this.#move(socket)
    this.#assign(waiting, party)
    waiting.answers++
    this.#count(socket, waiting, kept)
    answer.on('drain', () => this.#move(socket))
    answer.on('close', () => {
      waiting.answers--
      this.#count(socket, waiting, -kept)
    })
    this.#makeRoom(socket)
  }

  /** Adds the memory of a request that waits for earlier answers; with a negative number, takes it away again. */
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
    const waiting = this.#waiting.get(socket) ?? { answers: 0, bytes: 0, aheadBytes: 0, movedAt: 0, party: undefined }
    waiting.movedAt = this.#looks
    this.#waiting.delete(socket)
    this.#waiting.set(socket, waiting)
    return waiting
  }

  #forget(socket: Socket): void {
    const waiting = this.#waiting.get(socket)
    if (waiting !== undefined) this.#add(waiting.party, -waiting.bytes)
    this.#waiting.delete(socket)
  }

  #count(socket: Socket, waiting: Waiting, bytes: number): void {
    if (this.#waiting.get(socket) !== waiting) return
    waiting.bytes += bytes
    this.#add(waiting.party, bytes)
    if (waiting.bytes === 0) this.#waiting.delete(socket)
  }

  /** One connection may bring keys of several projects: it counts for the one whose answer went out last. */
  #assign(waiting: Waiting, party: number | undefined): void {
    this.#add(waiting.party, -waiting.bytes)
    waiting.party = party
    this.#add(party, waiting.bytes)
  }

  #add(party: number | undefined, bytes: number): void {
    this.#bytes += bytes
    const sum = (this.#parties.get(party) ?? 0) + bytes
    if (sum === 0) this.#parties.delete(party)
    else this.#parties.set(party, sum)
  }

  #closeIdle(): void {
    this.#looks++
    for (const [socket, waiting] of this.#waiting) {
      if (this.#looks - waiting.movedAt <= LOOKS) return
      if (waiting.answers > 0) this.#close(socket)
    }
  }

  /** Closes connections until the bound is kept. The newest answer may go out, however large it is. */
  #makeRoom(newest: Socket): void {
    while (this.#bytes > this.#bounds.bytes) {
      const [greediest] = [...this.#parties].reduce((most, each) => (each[1] > most[1] ? each : most))
      const socket = this.#firstOf(greediest, newest) ?? this.#firstOf(undefined, newest, true)
      if (socket === undefined) return
      this.#close(socket)
    }
  }

  /** The connection of this party, or of any, on which nothing has moved for longest; but not `newest`. */
  #firstOf(party: number | undefined, newest: Socket, isAny = false): Socket | undefined {
    for (const [socket, waiting] of this.#waiting) {
      if (socket !== newest && (isAny || waiting.party === party)) return socket
    }
    return undefined
  }

  #close(socket: Socket): void {
    this.#forget(socket)
    socket.destroy()
  }
}
