/**
 * Inspects a login before the driver reads the server's responses. If the server is of the wrong kind, or rejects the
 * login while attempts remain, closes the socket without an error, so that the driver (postgres 3.4.9) requests
 * another.
 */
import type { Socket } from 'node:net'
import type { ServerState } from './attempts.ts'

/** The outcome of a login: the server is ready, rejects the login with an SQLSTATE, or closes the connection first. */
export type LoginOutcome = { readonly state: ServerState } | { readonly refused: string } | 'closed'

/** The next step after a login: let the driver read on, try `another` server, or fail with an error. */
export type LoginVerdict = 'go on' | 'another' | Error

const HEADER_BYTES = 5
const ERROR_RESPONSE = 'E'.charCodeAt(0)
const PARAMETER_STATUS = 'S'.charCodeAt(0)
const READY_FOR_QUERY = 'Z'.charCodeAt(0)

export function watchLogin(socket: Socket, judge: (outcome: LoginOutcome) => LoginVerdict): void {
  const reader = new LoginReader()
  const { emit } = socket
  const watch = (event: string | symbol, ...values: unknown[]): boolean => {
    const outcome = event === 'data' ? reader.read(values[0] as Buffer) : CLOSING.includes(event) ? 'closed' : undefined
    const verdict = outcome === undefined ? 'go on' : judge(outcome)
    // The login is over, so the socket's original `emit` is restored.
    if (outcome !== undefined) Reflect.deleteProperty(socket, 'emit')
    if (verdict === 'go on') return Reflect.apply(emit, socket, [event, ...values])
    socket.destroy(verdict === 'another' ? undefined : verdict)
    return true
  }
  socket.emit = watch as Socket['emit']
}

/** Events that a socket emits, in order, when the peer ends the connection. */
const CLOSING: readonly (string | symbol)[] = ['end', 'error']

class LoginReader {
  readonly #parameters = new Map<string, string>()
  #unread: Buffer = Buffer.alloc(0)

  /** Returns the outcome of the login; undefined until the login ends. */
  read(received: Buffer): LoginOutcome | undefined {
    let bytes = this.#unread.length === 0 ? received : Buffer.concat([this.#unread, received])
    while (bytes.length >= HEADER_BYTES) {
      const length = 1 + bytes.readUInt32BE(1)
      if (bytes.length < length) break
      const texts = bytes.toString('utf8', HEADER_BYTES, length).split('\0')
      if (bytes[0] === ERROR_RESPONSE) return { refused: codeOf(texts) }
      if (bytes[0] === READY_FOR_QUERY) return { state: this.#state() }
      if (bytes[0] === PARAMETER_STATUS) this.#parameters.set(texts[0]!, texts[1]!)
      bytes = bytes.subarray(length)
    }
    this.#unread = bytes
    return undefined
  }

  /** Returns the server's state. PostgreSQL reports both values since version 14. */
  #state(): ServerState {
    const isOn = (name: string) => this.#parameters.get(name) === 'on'
    return { inHotStandby: isOn('in_hot_standby'), isReadOnly: isOn('default_transaction_read_only') }
  }
}

/** Returns the SQLSTATE, which is the error field that begins with C. */
const codeOf = (fields: readonly string[]): string => fields.find(field => field.startsWith('C'))?.slice(1) ?? ''
