/**
 * Limits the memory used for clients that do not read their responses. This memory holds responses that exceed the
 * kernel's buffers, and requests queued behind such responses (lib/http/sockets/pipelining.ts). A connection whose
 * client reads no data for a while is closed. If the total memory is too large, connections of the party (project) with
 * the most waiting bytes are closed, longest idle first.
 */
import type { Socket } from 'node:net'

export interface Bounds {
  /** Maximum number of waiting bytes on all connections together. */
  readonly bytes: number
  /** Maximum number of bytes of waiting requests on one connection. */
  readonly aheadBytes: number
  /** Maximum time without progress before a connection is closed. */
  readonly idleMs: number
}

const BOUNDS: Bounds = { bytes: 128 * 1024 * 1024, aheadBytes: 16 * 1024 * 1024, idleMs: 20_000 }
/**
 * Number of checks per `idleMs`. Idle time is measured in checks, because the clock also advances while the process is
 * suspended.
 */
const LOOKS = 20
/**
 * A response counts as stalled after this number of checks without progress. A closing server does not wait for stalled
 * responses.
 */
const STILL_LOOKS = 3

/** Subset of Node's http.ServerResponse. */
interface Answer {
  readonly closed: boolean
  readonly writableEnded: boolean
  /** Bytes written but not yet sent. */
  readonly writableLength: number
  on(event: 'drain' | 'close', listener: () => void): unknown
}

/** Unsent responses and waiting requests of one connection. `bytes` is the total size of both. */
interface Waiting {
  /** Number of responses that are not fully sent. */
  answers: number
  bytes: number
  aheadBytes: number
  /** The project of the responses, or undefined for responses without a project. */
  party: number | undefined
  /** Number of the check at which a response last began or made progress. */
  movedAt: number
}

export class UnsentAnswers {
  readonly #bounds: Bounds
  readonly #clock: NodeJS.Timeout
  /** Connections, longest idle first. */
  readonly #waiting = new Map<Socket, Waiting>()
  /** Connections with a close listener. */
  readonly #known = new WeakSet<Socket>()
  /** Number of waiting bytes by party. Parties without waiting bytes have no entry. */
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

  /** Whether any client is still reading a response. */
  get isMoving(): boolean {
    for (const { answers, movedAt } of this.#waiting.values()) {
      if (answers > 0 && this.#looks - movedAt <= STILL_LOOKS) return true
    }
    return false
  }

  /** Watches a response that is being sent. `bytes` is the memory that the response uses until it is fully sent. */
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

  /**
   * Adds the memory of a request that waits for earlier responses. A negative `bytes` subtracts memory added earlier.
   */
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

  /** Assigns the connection to its latest response's party, because its requests may use keys of several projects. */
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

  /** Closes connections until the total is within its limit. The newest response may be sent regardless of its size. */
  #makeRoom(newest: Socket): void {
    while (this.#bytes > this.#bounds.bytes) {
      const [greediest] = [...this.#parties].reduce((most, each) => (each[1] > most[1] ? each : most))
      const socket = this.#firstOf(greediest, newest) ?? this.#firstOf(undefined, newest, true)
      if (socket === undefined) return
      this.#close(socket)
    }
  }

  /** Returns the longest-idle connection of this party, or of any party if `isAny` is set. Never returns `newest`. */
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
