/**
 * A keep-alive connection of the load generator. It writes prepared requests, and reads only the status and the length
 * of each response. That costs a third of the CPU time of node's own HTTP client.
 */
import { connect, type Socket } from 'node:net'

/** All connections read responses into this buffer in turn. Each response is processed before the next read. */
const received = Buffer.alloc(64 * 1024)
const HEAD_END = '\r\n\r\n'

export interface ConnectionEvents {
  /** Called with the response's status and the number of its body's bytes. */
  onAnswer(status: number, bodyBytes: number): void
  onLost(reason: string): void
}

export class Connection {
  readonly #port: number
  readonly #events: ConnectionEvents
  /** Undefined if the server has closed the connection, as it may while the connection is idle. */
  #socket: Socket | undefined
  #isResting = true
  /** The start of a response head whose end has not arrived. */
  #head = ''
  #status = 0
  #bodyBytes = 0
  #bodyLeft = 0
  #closing = false

  constructor(port: number, events: ConnectionEvents) {
    this.#port = port
    this.#events = events
    this.#socket = this.#open()
  }

  #open(): Socket {
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: received,
        callback: length => {
          this.#read(length)
          return true
        }
      }
    })
    const lose = (reason: string) => {
      if (this.#socket === socket) this.#lose(reason)
    }
    socket.on('error', error => lose(error.message))
    socket.on('close', () => lose('the server closed the connection'))
    return socket
  }

  /** Writes a request. The caller may change the bytes once the response has arrived. */
  send(request: Buffer): void {
    this.#isResting = false
    this.#socket ??= this.#open()
    this.#socket.write(request)
  }

  close(): void {
    this.#closing = true
    this.#socket?.destroy()
  }

  #read(length: number): void {
    // Before it closes an idle connection, a server may send a response that states the reason.
    if (this.#isResting) return
    let at = 0
    while (at < length) {
      if (this.#bodyLeft === 0) {
        const before = this.#head.length
        this.#head += received.toString('latin1', at, length)
        const end = this.#head.indexOf(HEAD_END)
        if (end < 0) return
        at += end + HEAD_END.length - before
        if (!this.#readHead(end)) {
          this.#lose('an answer without Content-Length')
          return
        }
      }
      const part = Math.min(length - at, this.#bodyLeft)
      at += part
      this.#bodyLeft -= part
      if (this.#bodyLeft === 0) {
        this.#isResting = true
        this.#events.onAnswer(this.#status, this.#bodyBytes)
      }
    }
  }

  /** Returns false if the head does not state the body's length. */
  #readHead(end: number): boolean {
    this.#status = Number(this.#head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length))
    const bodyLength = /\r\ncontent-length: *(\d+)/i.exec(this.#head.slice(0, end))
    this.#head = ''
    this.#bodyBytes = Number(bodyLength?.[1])
    this.#bodyLeft = this.#bodyBytes
    return bodyLength !== null
  }

  #lose(reason: string): void {
    if (this.#closing) return
    if (this.#isResting) {
      this.#socket = undefined
      return
    }
    this.close()
    this.#events.onLost(reason)
  }
}
