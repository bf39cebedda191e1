/**
 * Opens the sockets of all connections, including TLS, so that any connection can be taken over from the driver
 * (copy-connection.ts). attempts.ts chooses the servers; tls.ts interprets the TLS parameters.
 *
 * The driver (postgres 3.4.9) requests a socket, logs in, and requests another socket if the first socket closes during
 * the login. All attempts at one connection therefore form a series. The series ends with a login or an error.
 */
import { connect, isIP, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Address, describeServer, type Server } from './address.ts'
import {
  attemptsOf,
  type ConnectAttempt,
  nextAfterRefusal,
  type ServerState,
  type SocketRoute,
  socketRouteOf,
  suits
} from './attempts.ts'
import { readTls, type Tls } from './tls.ts'

/** Timeout for each server's response, unless connect_timeout sets one. */
export const CONNECT_TIMEOUT_MS = 5000
/** How long a host that timed out stays last in the order of attempts. */
const SILENT_MS = 60_000
/** Length and code of the SSLRequest message. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const YES = 'S'.charCodeAt(0)

/** Opens sockets to one address and holds the state that all its connections share. */
export class Opener {
  readonly tls: Tls
  readonly #route: SocketRoute
  readonly #timeoutMs: number
  /** Time at which each server last failed to respond, in ms of performance.now(). */
  readonly #silent = new Map<string, number>()

  /** Throws a ConfigError if the address contradicts itself. */
  constructor(address: Address, timeoutMs: number) {
    this.tls = readTls(address)
    this.#route = socketRouteOf(address)
    this.#timeoutMs = timeoutMs
  }

  attempts(): ConnectAttempt[] {
    return attemptsOf(this.#route, this.tls, server => this.#isSilent(server))
  }

  async connect({ server, secure }: ConnectAttempt): Promise<Socket> {
    try {
      const plain = openPlain(server)
      await settled(plain, 'connect', this.#timeoutMs)
      return secure && 'host' in server ? await this.#secure(plain, server.host) : plain
    } catch (error) {
      if ((error as { code?: unknown }).code === TOO_LATE) this.#silent.set(describeServer(server), performance.now())
      throw error
    }
  }

  async #secure(plain: Socket, host: string): Promise<Socket> {
    const { mode, isDirect } = this.tls
    if (!isDirect) {
      plain.write(SSL_REQUEST)
      const [answer] = (await settled(plain, 'data', this.#timeoutMs)) as [Buffer]
      if (answer.length !== 1) throw refuse(plain, 'the server responded before any request')
      if (answer[0] !== YES) {
        if (mode === 'prefer') return plain
        throw refuse(plain, `the server does not offer TLS, which sslmode=${mode} requires`)
      }
    }
    const options = this.tls.optionsFor(host)
    const secure = connectTls({ ...options, socket: plain, ...(!isIP(host) && { servername: host }) })
    // The driver sees failures only after it receives the socket. This listener catches earlier failures.
    secure.on('error', () => {})
    await settled(secure, 'secureConnect', this.#timeoutMs)
    return secure
  }

  #isSilent(server: Server): boolean {
    const since = this.#silent.get(describeServer(server))
    return since !== undefined && performance.now() - since < SILENT_MS
  }
}

/** Opens the sockets of one driver instance. */
export class Openings {
  readonly #opener: Opener
  /** Remaining attempts; undefined while no series is in progress. */
  #left: ConnectAttempt[] | undefined
  /** The most recent socket handed to the driver. */
  #socket: Socket | undefined
  /** The open connection and its server. */
  #standing: { readonly socket: Socket; readonly attempt: ConnectAttempt } | undefined
  #isStopped = false

  constructor(opener: Opener) {
    this.#opener = opener
  }

  /** Never rejects, because the driver detects failures only through a socket that fails. */
  async open(): Promise<Socket> {
    // While a connection is open, the driver requests another socket only to cancel a query.
    if (this.#standing?.socket.destroyed === false) {
      return this.#opener.connect(this.#standing.attempt).catch(failedSocket)
    }
    let failure: Error = connectError('NO_HOST', 'DATABASE_URL has no host')
    try {
      this.#left ??= this.#opener.attempts()
      for (let next = this.#left.shift(); next !== undefined && !this.#isStopped; next = this.#left.shift()) {
        try {
          return this.#handOver(await this.#opener.connect(next), next)
        } catch (error) {
          failure = error as Error
        }
      }
    } catch (error) {
      failure = error as Error
    }
    this.#left = undefined
    return failedSocket(this.#isStopped ? connectError('ECONNABORTED', 'the connection is no longer needed') : failure)
  }

  /** Closes any socket that is still being opened, because no more sockets are needed. */
  stop(): void {
    this.#isStopped = true
    if (this.#left !== undefined) this.#socket?.destroy()
  }

  #handOver(socket: Socket, attempt: ConnectAttempt): Socket {
    if (this.#isStopped) socket.destroy()
    if (socket.destroyed) throw connectError('ECONNRESET', 'the server closed the connection')
    this.#socket = socket
    breakAtEnd(socket)
    watchLogin(socket, outcome => this.#judge(outcome, socket, attempt))
    setImmediate(() => {
      // Without this event, the driver would wait forever for a socket that closed before the driver began to listen.
      if (socket.closed && socket.listenerCount('close') > 0) socket.emit('close', false)
    })
    return socket
  }

  #judge(outcome: LoginOutcome, socket: Socket, attempt: ConnectAttempt): LoginVerdict {
    const left = this.#left ?? []
    if (outcome === 'closed') {
      if (left.length > 0 && !this.#isStopped) return 'another'
      this.#left = undefined
      return 'go on'
    }
    if ('refused' in outcome) {
      const next = nextAfterRefusal(outcome.refused, attempt, left)
      if (next === undefined) this.#left = undefined
      else left.splice(0, left.indexOf(next))
      return next === undefined ? 'go on' : 'another'
    }
    if (suits(attempt.session, outcome.state)) {
      this.#left = undefined
      this.#standing = { socket, attempt }
      return 'go on'
    }
    this.#left = left.filter(({ server, session }) => server !== attempt.server || session !== attempt.session)
    if (this.#left.length > 0) return 'another'
    this.#left = undefined
    return connectError('NO_HOST', `no host in DATABASE_URL satisfies target_session_attrs=${attempt.session}`)
  }
}

/**
 * Turns Nagle's algorithm off, because the algorithm delays batches (test/bench/RESULTS.md, "The embedded PostgreSQL
 * and its connections").
 */
function openPlain(server: Server): Socket {
  const socket = 'path' in server ? connect({ path: server.path }) : connect({ ...server, noDelay: true })
  return socket.on('error', () => {})
}

const TOO_LATE = 'CONNECT_TIMEOUT'

/** Waits for a socket event. Rejects after `timeoutMs`, or when the socket closes. */
function settled(socket: Socket, event: string, timeoutMs: number): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      end()
      socket.destroy()
      const isSaid = error instanceof Error
      reject(isSaid ? Object.assign(error, CONNECTING) : connectError('ECONNRESET', 'the server closed the connection'))
    }
    const succeed = (...values: unknown[]) => {
      end()
      resolve(values)
    }
    const late = setTimeout(() => fail(connectError(TOO_LATE, `no response for ${timeoutMs} ms`)), timeoutMs)
    const end = () => {
      clearTimeout(late)
      socket.off(event, succeed).off('error', fail).off('close', fail)
    }
    socket.once(event, succeed).once('error', fail).once('close', fail)
  })
}

/** Marks a connection error, so that failure.ts can tell that PostgreSQL received no statement. */
const CONNECTING = { syscall: 'connect' }
const connectError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code, ...CONNECTING })

function refuse(socket: Socket, message: string): Error {
  socket.destroy()
  return connectError('NO_TLS', message)
}

/** Returns a socket that fails once the driver listens, because the driver detects failures only through a socket. */
function failedSocket(error: Error): Socket {
  const socket = new Socket()
  setImmediate(() => socket.destroy(error))
  return socket
}

/**
 * Turns an orderly end of the socket into an error. Otherwise, if a server closes a connection before the connection is
 * ready (as a proxy without servers does), the driver would reconnect forever.
 */
function breakAtEnd(socket: Socket): void {
  socket.once('end', () => {
    socket.destroy(
      Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET', syscall: 'read' })
    )
  })
}

/** Describes the transport for the log. */
export function describeTransport(address: Address, { mode }: Tls): string {
  if (address.servers.every(server => 'path' in server)) return 'a Unix socket'
  if (mode === 'disable') return 'TCP without TLS'
  if (mode === 'allow') return 'TCP, with TLS where the server asks for it (sslmode=allow)'
  return mode === 'prefer' ? 'TCP, with TLS where the server offers it (sslmode=prefer)' : `TLS (sslmode=${mode})`
}

// The code below inspects a login before the driver reads the server's responses. If the server is of the wrong kind,
// or rejects the login while attempts remain, the socket is closed without an error, so that the driver requests
// another socket.

/** The outcome of a login: the server is ready, rejects the login with an SQLSTATE, or closes the connection first. */
type LoginOutcome = { readonly state: ServerState } | { readonly refused: string } | 'closed'

/** The next step after a login: let the driver read on, try `another` server, or fail with an error. */
type LoginVerdict = 'go on' | 'another' | Error

const HEADER_BYTES = 5
const ERROR_RESPONSE = 'E'.charCodeAt(0)
const PARAMETER_STATUS = 'S'.charCodeAt(0)
const READY_FOR_QUERY = 'Z'.charCodeAt(0)

function watchLogin(socket: Socket, judge: (outcome: LoginOutcome) => LoginVerdict): void {
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
