/**
 * The gRPC server. It offers the routes that name a method of gRPC (`grpc` in lib/http/route.ts): a call is answered by
 * the handler that answers the route's requests in protobuf. A call is checked in this order: key (UNAUTHENTICATED),
 * scope (PERMISSION_DENIED), size of the message (RESOURCE_EXHAUSTED, by the library), and then as the handler does.
 */
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import {
  Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  setLogger
} from '@grpc/grpc-js'
import { ConfigError } from '../config.ts'
import { Refusal } from '../errors.ts'
import type { Readiness } from '../health/readiness.ts'
import { type AuthoriseOptions, authorise } from '../http/authorise.ts'
import { nextRequestId } from '../http/exchange.ts'
import { encodeStatus, rpcCodeOf } from '../http/otlp/rpc-status.ts'
import { Content, NOBODY, type Reply, type Route } from '../http/route.ts'
import type { Admits, Room } from '../limits/admission.ts'
import { ARRIVAL, type ArrivalBounds } from '../limits/arrival.ts'
import { type Place, Places } from '../limits/places.ts'
import { type Logger, logRequest } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { plainAddress } from '../network-list.ts'
import { MAX_MESSAGE_BYTES, PROTOBUF_TYPE } from '../schema/otlp.ts'
import type { Principal } from '../schema/principal.ts'

export interface GrpcOptions extends AuthoriseOptions {
  readonly routes: readonly Route[]
  readonly ingest: Admits
  readonly readiness: Pick<Readiness, 'noteRefusal'>
  readonly log: Logger
  readonly metrics: Metrics
  /** Files of a certificate and its key, in PEM; undefined for a server without TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly arrival?: Partial<ArrivalBounds> | undefined
}

/**
 * How many messages arrive at once, and how many of them are of one project. A message may have MAX_MESSAGE_BYTES, and
 * gRPC does not announce its length, so that no room can be reserved before it is there. Of calls beyond that number no
 * message is read until another has come; projects take turns.
 */
const ARRIVING = { room: 32, each: 8 }
/**
 * How long a message may take to arrive once its turn has come. The library does not tell how much of it is there. So
 * if others wait for its place, it has only the period in which a body must keep the pace.
 */
const ARRIVAL_MS = 20_000
/** How many calls a connection may have under way. The others wait at their client. */
const MOST_CALLS = 100
/** How many calls of one project may wait until their message is read. */
const MOST_WAITING = 1000
/**
 * The library cuts off calls that are under way so long after a connection was told to end. `close` comes before, and
 * waits for them as it sees fit.
 */
const DRAINED_MS = 3_600_000
/** How often a silent connection is asked whether its client is still there. */
const KEEPALIVE_MS = 60_000

type Unary = (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => void

export class GrpcServer {
  readonly #options: GrpcOptions
  readonly #server: Server
  readonly #arrival: ArrivalBounds
  readonly #arriving: Places
  /**
   * The principals of calls that were let in. The library gives the handler the same metadata object as the
   * interceptor.
   */
  readonly #keys = new WeakMap<Metadata, Principal>()
  readonly #routes: ReadonlyMap<string, Route>
  /** The address on which the server listens, in the library's notation. */
  #authority: string | undefined

  constructor(options: GrpcOptions) {
    this.#options = options
    this.#arrival = { ...ARRIVAL, ...options.arrival }
    this.#arriving = new Places({ ...ARRIVING, line: MOST_WAITING, waitMs: this.#arrival.waitMs })
    this.#routes = new Map(options.routes.flatMap(route => (route.grpc === undefined ? [] : [[route.grpc, route]])))
    // The library writes to stderr by itself, which belongs to our log.
    setLogger({ error: message => options.log.debug({ grpc: String(message) }, 'gRPC') })
    this.#server = new Server({
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.max_concurrent_streams': MOST_CALLS,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
      interceptors: [this.#interceptor()]
    })
    for (const [path, route] of this.#routes) {
      this.#server.addService(serviceOf(path), { export: (call, answer) => void this.#serve(route, call, answer) } as {
        export: Unary
      })
    }
  }

  /** Begins to listen and resolves to the port. Rejects with a ConfigError if it cannot. */
  listen(host: string, port: number): Promise<number> {
    const credentials = credentialsOf(this.#options.tls)
    const authorityOf = (port: number) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(authorityOf(port), credentials, (error, bound) => {
        this.#authority = authorityOf(bound)
        if (error === null) resolve(bound)
        else reject(new ConfigError(`OTLP_GRPC_PORT ${port} on ${host} cannot be used: ${error.message}`))
      })
    })
  }

  /**
   * Tells each connection to end (GOAWAY). Calls under way are answered; the client opens another connection for the
   * next ones, which another server may take. One that comes here is served until `close`.
   */
  drain(): void {
    if (this.#authority !== undefined) this.#server.drain(this.#authority, DRAINED_MS)
  }

  /** Takes no more calls, and waits until those under way are answered, or until the time is up. */
  async close(graceMs: number): Promise<void> {
    const force = setTimeout(() => this.#server.forceShutdown(), graceMs)
    await new Promise<void>(resolve => this.#server.tryShutdown(() => resolve()))
    clearTimeout(force)
  }

  /** Looks at the key of a call before its message is read, and lets messages in in turn. */
  #interceptor(): ServerInterceptor {
    return ({ path }, call) => {
      let place: Place | undefined
      let clock: NodeJS.Timeout | undefined
      let isOver = false
      const settle = () => {
        isOver = true
        clearInterval(clock)
        place?.leave()
      }
      const letIn = async (metadata: Metadata): Promise<boolean> => {
        const route = this.#routes.get(path)
        // The library answers UNIMPLEMENTED to what is no method.
        if (route === undefined) return true
        const startedAt = performance.now()
        let key: Principal | undefined
        const refuse = (error: unknown) => {
          settle()
          const refusal = this.#refusalOf(error, undefined, key)
          this.#report(route, nextRequestId(), startedAt, refusal, 0, 0, key, call.getPeer())
          call.sendStatus(failureOf(refusal))
        }
        try {
          key = await authorise(this.#options, route, textOf(metadata, 'authorization'))
          if (isOver) return false
          this.#keys.set(metadata, key)
          place = this.#arriving.of(key.projectId)
          await place.enter()
        } catch (error) {
          if (!isOver) refuse(error)
          return false
        }
        if (!isOver) clock = this.#watch(place, refuse)
        return !isOver
      }
      return new ServerInterceptingCall(call, {
        start: next =>
          next({
            onReceiveMetadata: (metadata, proceed) => void letIn(metadata).then(isIn => isIn && proceed(metadata)),
            // The handler, which reserves room for the message, begins only now. A client that sends a message and
            // never ends the stream would hold memory that nothing counts.
            onReceiveHalfClose: proceed => {
              settle()
              proceed()
            },
            onCancel: settle
          })
      })
    }
  }

  /** Refuses a message that takes too long to arrive. */
  #watch(place: Place, refuse: (refusal: Refusal) => void): NodeJS.Timeout {
    const { periodMs } = this.#arrival
    let ms = 0
    return setInterval(() => {
      ms += periodMs
      if (ms >= ARRIVAL_MS || place.isWanted) refuse(late())
    }, periodMs).unref()
  }

  async #serve(route: Route, call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>): Promise<void> {
    const startedAt = performance.now()
    const requestId = nextRequestId()
    const key = this.#keys.get(call.metadata) as Principal
    const payload = call.request
    let room: Room | undefined
    try {
      room = this.#options.ingest.admit(payload.length, 1, key.projectId)
      const reply = await route.handler(requestOf(requestId, key, payload))
      const bytes = bytesOf(reply)
      this.#report(route, requestId, startedAt, OK, payload.length, bytes.length, key, call.getPeer())
      answer(null, bytes)
    } catch (error) {
      const refusal = this.#refusalOf(error, requestId, key)
      this.#report(route, requestId, startedAt, refusal, payload.length, 0, key, call.getPeer())
      answer(failureOf(refusal))
    } finally {
      room?.release()
    }
  }

  #refusalOf(error: unknown, requestId?: string, key?: Principal): Refusal {
    if (error instanceof Refusal) {
      this.#options.metrics.countRefusal(error.code, key?.projectId)
      this.#options.readiness.noteRefusal(error.code)
      return error
    }
    this.#options.log.error(
      { requestId, message: (error as Error).message, stack: (error as Error).stack },
      'unexpected error'
    )
    return new Refusal('internal_error', 'An unexpected error; the server log has it.')
  }

  /** Writes the line of a call, with the status that its answer would have over HTTP. */
  #report(
    route: Route,
    requestId: string,
    startedAt: number,
    { status, code }: { readonly status: number; readonly code?: string },
    bytesIn: number,
    bytesOut: number,
    key: Principal | undefined,
    peer: string
  ): void {
    const ms = Math.round((performance.now() - startedAt) * 100) / 100
    const operation = route.operation ?? route.path
    this.#options.metrics.countRequest(operation, status, ms)
    this.#options.metrics.countProject(key?.projectId, bytesOut)
    const [keyId, keyLabel, project] = [key?.keyId, key?.label, key?.projectId]
    const client = plainAddress(peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''))
    const path = route.grpc as string
    logRequest(this.#options.log, {
      requestId,
      method: 'gRPC',
      path,
      route: operation,
      status,
      code,
      ms,
      bytesIn,
      bytesOut,
      client,
      keyId,
      keyLabel,
      user: undefined,
      project
    })
  }
}

const OK = { status: 200 }
/** Exporters send again after this refusal. */
const late = () => new Refusal('quota_exhausted', 'the message took too long to arrive; retry later')

const sameBytes = (bytes: Buffer): Buffer => bytes

/** The service with the one method of a path. Messages stay bytes, which the route's handler decodes itself. */
const serviceOf = (path: string): ServiceDefinition => ({
  export: {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: sameBytes,
    requestDeserialize: sameBytes,
    responseSerialize: sameBytes,
    responseDeserialize: sameBytes
  }
})

/** The call as the route's handler knows requests. */
const requestOf = (requestId: string, key: Principal, payload: Uint8Array): Parameters<Route['handler']>[0] => ({
  ...NOBODY,
  requestId,
  key,
  payload,
  traceId: '',
  scoreId: '',
  query: {},
  headers: { 'content-type': PROTOBUF_TYPE },
  localPort: 0,
  baseUrl: '',
  signal: new AbortController().signal
})

function bytesOf({ body }: Reply): Buffer {
  if (body instanceof Content && typeof body.bytes !== 'string') return Buffer.from(body.bytes)
  throw new Error('a route with a method of gRPC answered otherwise than in protobuf')
}

/** A refusal as the library takes it. The detail in protobuf says whether and when the client shall send again. */
function failureOf(refusal: Refusal) {
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(encodeStatus(refusal)))
  // The library writes the text as an URI, which has no form for half a surrogate pair.
  return { code: rpcCodeOf(refusal), details: Buffer.from(refusal.message).toString(), metadata }
}

function textOf(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name)
  if (values.length > 1) throw new Refusal('invalid_request', `The call has more than one ${name}: send one.`)
  return values[0] === undefined ? undefined : String(values[0])
}

function credentialsOf(tls: GrpcOptions['tls']): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure()
  const pair = { cert_chain: readPem('OTLP_GRPC_CERT', tls.cert), private_key: readPem('OTLP_GRPC_KEY', tls.key) }
  try {
    // The library would report a fault in them only when it binds the port.
    createSecureContext({ cert: pair.cert_chain, key: pair.private_key })
    return ServerCredentials.createSsl(null, [pair])
  } catch (error) {
    throw new ConfigError(`OTLP_GRPC_CERT and OTLP_GRPC_KEY cannot be used together: ${(error as Error).message}`)
  }
}

function readPem(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new ConfigError(`${name} cannot be read: ${(error as Error).message}`)
  }
}
