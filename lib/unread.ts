/**
 * Answers that their clients have not taken yet: what does not fit into the kernel's buffers waits in this process's
 * memory. A connection on which nothing moves for a while is closed, and where all that waits is too much, the one that
 * keeps it waiting for longest is.
 */
import type { Socket } from 'node:net'

interface Bounds {
  /** Bytes of all answers that wait. */
  readonly bytes: number
  /** How long a connection may take nothing of what waits for it. */
  readonly idleMs: number
}

const BOUNDS: Bounds = { bytes: 128 * 1024 * 1024, idleMs: 20_000 }

/** Of node's http.ServerResponse. */
interface Answer {
  /** What was written and not yet taken, also where answers before it on the same connection have not been taken. */
  readonly writableLength: number
  once(event: 'finish', listener: () => void): unknown
}

export class Unread {
  readonly #bounds: Bounds
  /** Bytes by connection; the one that keeps them waiting for longest comes first. */
  readonly #waiting = new Map<Socket, number>()
  /** Whose end is listened for. */
  readonly #known = new WeakSet<Socket>()
  #bytes = 0

  constructor(bounds = BOUNDS) {
    this.#bounds = bounds
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Is given every answer once it was written. */
  watch(socket: Socket, answer: Answer): void {
    const bytes = answer.writableLength
    if (bytes === 0 || socket.destroyed) return
    // Any bytes that move begin the time anew; node closes the connection when it is over.
    socket.setTimeout(this.#bounds.idleMs)
    this.#add(socket, bytes)
    answer.once('finish', () => this.#take(socket, bytes))
    this.#makeRoom(socket, bytes)
  }

  #add(socket: Socket, bytes: number): void {
    if (!this.#known.has(socket)) {
      this.#known.add(socket)
      socket.once('close', () => this.#take(socket, Number.POSITIVE_INFINITY))
    }
    this.#waiting.set(socket, (this.#waiting.get(socket) ?? 0) + bytes)
    this.#bytes += bytes
  }

  #take(socket: Socket, bytes: number): void {
    const waiting = this.#waiting.get(socket) ?? 0
    const taken = Math.min(bytes, waiting)
    this.#bytes -= taken
    if (taken < waiting) this.#waiting.set(socket, waiting - taken)
    else this.#waiting.delete(socket)
  }

  /** What was added last may go out, however large it is, unless others wait before it on its connection. */
  #makeRoom(newest: Socket, added: number): void {
    for (const [socket, bytes] of this.#waiting) {
      if (this.#bytes <= this.#bounds.bytes) return
      if (socket === newest && bytes === added) continue
      this.#take(socket, bytes)
      socket.destroy()
    }
  }
}
