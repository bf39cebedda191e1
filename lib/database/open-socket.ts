/**
 * Opens the sockets of all connections, TLS included. The driver could do that, but copy-connection.ts must be able to
 * take every socket over. `sslmode` means what it means to the driver (postgres 3.4.9):
 *
 * | sslmode                 | TLS                                  | certificate and host name |
 * |-------------------------|--------------------------------------|---------------------------|
 * | none, disable           | no                                   |                           |
 * | prefer                  | where the server offers it           | not checked               |
 * | allow, require          | yes                                  | not checked               |
 * | verify-ca, verify-full  | yes                                  | both checked              |
 *
 * `sslrootcert` names a file of certificates to trust in place of those of Node, or is `system`;
 * `sslnegotiation=direct` begins with TLS at once.
 */
import { readFileSync } from 'node:fs'
import { connect, isIP, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { ConfigError } from '../config.ts'

/** Where to connect to, as the driver has it. `path` is that of a Unix socket. */
export interface Address {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path: string | false
}

/** How a connection is to be secured. */
export interface TlsMode {
  /** The value of `sslmode`. */
  readonly mode: string
  /** Whether TLS begins at once (`sslnegotiation=direct`). */
  readonly isDirect: boolean
  /** The certificates to trust, in PEM; those of Node if it is undefined. */
  readonly ca: Buffer | undefined
}

export const CONNECT_TIMEOUT_MS = 5000
/** Length and number of the message SSLRequest. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const YES = 'S'.charCodeAt(0)

/** How an address asks for TLS; undefined if it does not. Throws a ConfigError if sslrootcert cannot be read. */
export function readTlsMode(
  url: string,
  driver: { readonly ssl: unknown; readonly sslnegotiation: unknown }
): TlsMode | undefined {
  if (!driver.ssl) return undefined
  const file = new URL(url).searchParams.get('sslrootcert')
  return {
    mode: String(driver.ssl),
    isDirect: driver.sslnegotiation === 'direct',
    ca: file === null || file === 'system' ? undefined : readCertificates(file)
  }
}

function readCertificates(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new ConfigError(`sslrootcert of DATABASE_URL cannot be read: ${(error as Error).message}`)
  }
}

/**
 * Returns a function that opens the socket of a connection. Of several hosts, each call takes the next one that
 * answers.
 */
export function socketOpener(tls: TlsMode | undefined): (address: Address) => Socket | Promise<Socket> {
  let turn = 0
  return address => {
    const { host, port, path } = address
    if (tls === undefined && (path !== false || host.length === 1)) return openPlain(address, 0)
    return openFirst(host.length, i => openSecure(address, (turn + i) % host.length, tls)).then(({ socket, tries }) => {
      turn = (turn + tries) % port.length
      return socket
    }, failedSocket)
  }
}

async function openFirst(
  count: number,
  open: (i: number) => Promise<Socket>
): Promise<{ socket: Socket; tries: number }> {
  for (let i = 0; ; i++) {
    try {
      return { socket: await open(i), tries: i + 1 }
    } catch (error) {
      if (i + 1 >= count) throw error
    }
  }
}

/**
 * Opens a socket. It may still be connecting when it is returned; what is written to it waits. Nagle's algorithm is
 * off, because it holds batches back over TCP (test/bench/RESULTS.md, "The embedded PostgreSQL and its connections").
 */
function openPlain({ host, port, path }: Address, i: number): Socket {
  return path !== false ? connect({ path }) : connect({ host: host[i]!, port: port[i]!, noDelay: true })
}

/** Resolves when the socket is connected and, if that is asked for, secured by TLS. */
async function openSecure(address: Address, i: number, tls: TlsMode | undefined): Promise<Socket> {
  const plain = openPlain(address, i)
  await settled(plain, 'connect')
  if (tls === undefined) return plain
  if (!tls.isDirect) {
    plain.write(SSL_REQUEST)
    const [answer] = (await settled(plain, 'data')) as [Buffer]
    if (answer.length !== 1) throw refuse(plain, 'the server answered before it was asked')
    if (answer[0] !== YES) {
      if (tls.mode === 'prefer') return plain
      throw refuse(plain, `the server does not offer TLS, which sslmode=${tls.mode} asks for`)
    }
  }
  const name = address.path === false ? address.host[i]! : ''
  const secure = connectTls({
    socket: plain,
    ...(name !== '' && !isIP(name) && { servername: name }),
    ...(tls.isDirect && { ALPNProtocols: ['postgresql'] }),
    ...(tls.ca !== undefined && { ca: tls.ca }),
    rejectUnauthorized: !UNCHECKED.includes(tls.mode)
  })
  await settled(secure, 'secureConnect')
  return secure
}

/** Modes that do not check the server's certificate. */
const UNCHECKED = ['prefer', 'allow', 'require']

/** Waits for an event of a socket. Rejects after CONNECT_TIMEOUT_MS, or when the socket closes. */
function settled(socket: Socket, event: string): Promise<unknown[]> {
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
    const late = setTimeout(
      () => fail(connectError('CONNECT_TIMEOUT', `no answer for ${CONNECT_TIMEOUT_MS} ms`)),
      CONNECT_TIMEOUT_MS
    )
    const end = () => {
      clearTimeout(late)
      socket.off(event, succeed).off('error', fail).off('close', fail)
    }
    socket.once(event, succeed).once('error', fail).once('close', fail)
  })
}

/** Marks an error as one of connecting: failure.ts then knows that nothing was sent that PostgreSQL could have done. */
const CONNECTING = { syscall: 'connect' }
const connectError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code, ...CONNECTING })

function refuse(socket: Socket, message: string): Error {
  socket.destroy()
  return connectError('NO_TLS', message)
}

/** A socket that fails as soon as the driver listens to it: the driver learns of a failure only from a socket. */
function failedSocket(error: Error): Socket {
  const socket = new Socket()
  setImmediate(() => socket.destroy(error))
  return socket
}

/** How a connection is made, in words for the log. */
export function describeTransport(tls: TlsMode | undefined, isLocal: boolean): string {
  if (tls !== undefined) return `TLS (sslmode=${tls.mode})`
  return isLocal ? 'a Unix socket' : 'TCP without TLS'
}
