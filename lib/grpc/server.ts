/**
 * The gRPC server. It serves the routes that declare a gRPC method (`grpc` in lib/http/route.ts), through the handlers
 * that also serve protobuf requests over HTTP. A call is checked in this order: key (UNAUTHENTICATED), scope
 * (PERMISSION_DENIED), message size (RESOURCE_EXHAUSTED, by the library), and then the handler's own checks.
 */
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
import { Refusal } from '../errors.ts'
import type { Readiness } from '../health/readiness.ts'
import { type AuthoriseOptions, authorise } from '../http/authorise.ts'
import { nextRequestId } from '../http/exchange.ts'
import { encodeStatus, rpcCodeOf } from '../http/otlp/rpc-status.ts'
import { Content, NOBODY, type Reply, type Route } from '../http/route.ts'
import type { Admits, Room } from '../limits/admission.ts'
import { ARRIVAL, type ArrivalBounds } from '../limits/arrival.ts'
import { type Slot, Slots } from '../limits/slots.ts'
import { type Logger, logRequest } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { plainAddress } from '../network-list.ts'
import { MAX_MESSAGE_BYTES, PROTOBUF_TYPE } from '../schema/otlp.ts'
import type { Principal } from '../schema/principal.ts'
import { ConfigError } from '../variables.ts'
import { Certificate } from './certificate.ts'

export interface GrpcOptions extends AuthoriseOptions {
  readonly routes: readonly Route[]
  readonly ingest: Admits
  readonly readiness: Pick<Readiness, 'noteRefusal'>
  readonly log: Logger
  readonly metrics: Metrics
  /** PEM files of a certificate and its key; undefined for a server without TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly arrival?: Partial<ArrivalBounds> | undefined
  /** Interval at which the files of `tls` are read again. */
  readonly certificateCheckMs?: number
}

/**
 * Maximum number of messages that may arrive concurrently, in total and per project. gRPC does not announce a message's
 * length, and reserving MAX_MESSAGE_BYTES for each message would take too much memory. Further calls' messages are not
 * read until a slot is free; projects take turns.
 */
const ARRIVING = { total: 32, each: 8 }
/**
 * Maximum time for a message to arrive once its turn has come. While other calls wait for a slot, the maximum is one
 * period of ArrivalBounds. The library does not report how much of a message has arrived, so the message's pace is
 * unknown.
 */
const ARRIVAL_MS = 20_000
/** Maximum number of calls in flight per connection. Further calls wait at the client. */
const MOST_CALLS = 100
/** Maximum number of calls per project that may wait for their message to be read. */
const MOST_WAITING = 1000
/** Time after which the library ends the calls on a draining connection. `close` is called earlier. */
const DRAINED_MS = 3_600_000
/** Interval at which the server pings the client of an idle connection. */
const KEEPALIVE_MS = 60_000

type Unary = (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => void

export class GrpcServer {
  readonly #options: GrpcOptions
  readonly #server: Server
  readonly #arrival: ArrivalBounds
  readonly #arriving: Slots
  /** Principals of admitted calls. The library passes the same metadata object to the interceptor and the handler. */
  readonly #keys = new WeakMap<Metadata, Principal>()
  readonly #routes: ReadonlyMap<string, Route>
  /** The server's listening address, in the form that the library expects. */
  #authority: string | undefined
  #certificate: Certificate | undefined

  constructor(options: GrpcOptions) {
    this.#options = options
    this.#arrival = { ...ARRIVAL, ...options.arrival }
    this.#arriving = new Slots({ ...ARRIVING, line: MOST_WAITING, waitMs: this.#arrival.waitMs })
    this.#routes = new Map(options.routes.flatMap(route => (route.grpc === undefined ? [] : [[route.grpc, route]])))
    // By default, the library writes its own messages to stderr, which is reserved for this server's log.
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

  /** Starts listening and resolves to the port. Rejects with a ConfigError if the address cannot be used. */
  listen(host: string, port: number): Promise<number> {
    const { tls, log, certificateCheckMs } = this.#options
    if (tls !== undefined) this.#certificate = new Certificate(tls, log, certificateCheckMs)
    const credentials = this.#certificate ?? ServerCredentials.createInsecure()
    const authorityOf = (port: number) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(authorityOf(port), credentials, (error, bound) => {
        this.#authority = authorityOf(bound)
        if (error === null) resolve(bound)
        else reject(new ConfigError(`OTLP_GRPC_PORT ${port} on ${host} cannot be used: ${error.message}`))
      })
    })
  }

  /** When the certificate in use expires; undefined without TLS. */
  get certificateExpiresAt(): Date | undefined {
    return this.#certificate?.expiresAt
  }

  /**
   * Tells clients to end their connections after the calls in flight (GOAWAY). Clients open new connections for further
   * calls, possibly to another server. This server accepts new connections until `close`.
   */
  drain(): void {
    if (this.#authority !== undefined) this.#server.drain(this.#authority, DRAINED_MS)
  }

  /** Stops accepting calls and waits until calls in flight are answered or `graceMs` passes. */
  async close(graceMs: number): Promise<void> {
    this.#certificate?.close()
    const force = setTimeout(() => this.#server.forceShutdown(), graceMs)
    await new Promise<void>(resolve => this.#server.tryShutdown(() => resolve()))
    clearTimeout(force)
  }

  /** Checks a call's key before its message is read, and admits messages in turn. */
  #interceptor(): ServerInterceptor {
    return ({ path }, call) => {
      let slot: Slot | undefined
      let clock: NodeJS.Timeout | undefined
      let isOver = false
      const settle = () => {
        isOver = true
        clearInterval(clock)
        slot?.leave()
      }
      const letIn = async (metadata: Metadata): Promise<boolean> => {
        const route = this.#routes.get(path)
        // The library responds with UNIMPLEMENTED for an unknown method.
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
          slot = this.#arriving.of(key.projectId)
          await slot.enter()
        } catch (error) {
          if (!isOver) refuse(error)
          return false
        }
        if (!isOver) clock = this.#watch(slot, refuse)
        return !isOver
      }
      return new ServerInterceptingCall(call, {
        start: next =>
          next({
            onReceiveMetadata: (metadata, proceed) => void letIn(metadata).then(isIn => isIn && proceed(metadata)),
            // The handler, which reserves memory for the message, starts only when the client ends the stream. Until
            // then the call keeps its slot, because a client that never ends the stream would otherwise hold uncounted
            // memory.
            onReceiveHalfClose: proceed => {
              settle()
              proceed()
            },
            onCancel: settle
          })
      })
    }
  }

  /** Rejects a message that takes too long to arrive. */
  #watch(slot: Slot, refuse: (refusal: Refusal) => void): NodeJS.Timeout {
    const { periodMs } = this.#arrival
    let ms = 0
    return setInterval(() => {
      ms += periodMs
      if (ms >= ARRIVAL_MS || slot.isWanted) refuse(late())
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
    return new Refusal('internal_error', 'An unexpected error; see the server log.')
  }

  /** Logs a call with the HTTP status that corresponds to its result. */
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
/** Exporters retry a call that is rejected with this code. */
const late = () => new Refusal('quota_exhausted', 'the message took too long to arrive; retry later')

const sameBytes = (bytes: Buffer): Buffer => bytes

/**
 * Returns a service with only the method at this path. Messages are passed as bytes; the route's handler decodes them.
 */
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

/** Returns the call as a request for the route's handler. */
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
  throw new Error('a gRPC route returned something other than protobuf')
}

/** Converts a refusal to the library's error. The protobuf detail says whether and when the client should retry. */
function failureOf(refusal: Refusal) {
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(encodeStatus(refusal)))
  // The library encodes the details as a URI, which cannot represent unpaired surrogates.
  return { code: rpcCodeOf(refusal), details: Buffer.from(refusal.message).toString(), metadata }
}

function textOf(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name)
  if (values.length > 1) throw new Refusal('invalid_request', `The call has more than one ${name}: send only one.`)
  return values[0] === undefined ? undefined : String(values[0])
}
