/**
 * Watches the login of a connection before the driver reads the server's answers. If the server is not of the kind that
 * was asked for, or refuses this login while another is left to try, the socket closes without an error: then the
 * driver (postgres 3.4.9) asks for another one.
 */
import type { Socket } from 'node:net'
import type { ServerState } from './attempts.ts'

/** The outcome of a login: the server is ready, refuses with this SQLSTATE, or closes the connection before either. */
export type LoginOutcome = { readonly state: ServerState } | { readonly refused: string } | 'closed'

/** The next step after a login: let the driver read on, try `another` server, or end the attempt with an error. */
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
    // The login is over: the socket is left as it was before.
    if (outcome !== undefined) Reflect.deleteProperty(socket, 'emit')
    if (verdict === 'go on') return Reflect.apply(emit, socket, [event, ...values])
    socket.destroy(verdict === 'another' ? undefined : verdict)
    return true
  }
  socket.emit = watch as Socket['emit']
}

/** The events of a socket, in order, when the other side ends the connection. */
const CLOSING: readonly (string | symbol)[] = ['end', 'error']

/** Reads the messages of a login. */
class LoginReader {
  readonly #parameters = new Map<string, string>()
  #unread: Buffer = Buffer.alloc(0)

  /** The outcome of the login; undefined while it goes on. */
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

  /** The state of the server. PostgreSQL reports both values since version 14. */
  #state(): ServerState {
    const isOn = (name: string) => this.#parameters.get(name) === 'on'
    return { inHotStandby: isOn('in_hot_standby'), isReadOnly: isOn('default_transaction_read_only') }
  }
}

/** The field of an error that holds its SQLSTATE begins with C. */
const codeOf = (fields: readonly string[]): string => fields.find(field => field.startsWith('C'))?.slice(1) ?? ''
