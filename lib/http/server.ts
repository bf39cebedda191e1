/**
 * The HTTP server, which handles a request from socket to response. Checks run in a fixed order, and the first failure
 * decides the response: route (404, 405), key or person (401), scope or role (403), path ids (404), query (400),
 * encoding and size of the body (415, 413), and then the handler's own checks. No part of a request is parsed before
 * that part is checked.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, BlockList, Socket } from 'node:net'
import { nameCommands } from '../command-names.ts'
import { Refusal } from '../errors.ts'
import type { Readiness } from '../health/readiness.ts'
import { Admission, type Admits } from '../limits/admission.ts'
import { ARRIVAL, type ArrivalBounds } from '../limits/arrival.ts'
import { RequestsUnderWay } from '../limits/requests-under-way.ts'
import type { Slots } from '../limits/slots.ts'
import { listenError } from '../listen-error.ts'
import { type Logger, logRequest } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { isWithin, plainAddress } from '../network-list.ts'
import type { PersonAccess } from '../people/visit.ts'
import { LARGE_BODY_BYTES } from '../schema/input.ts'
import { type AuthoriseOptions, authorise } from './authorise.ts'
import { ClientGone, type ContentCoding, contentEncoding, contentLength, receiveBody } from './body/body.ts'
import { BodyReservation, type Expected, LateBody } from './body/body-reservation.ts'
import { LargeMemory, largeBodies, type MemoryLease } from './body/large-memory.ts'
import { Exchange } from './exchange.ts'
import { hintAtOtlp } from './otlp/otlp-address.ts'
import { readPathId } from './path-id.ts'
import { type AdmitOptions, admit, isPersonAccess } from './people/admit.ts'
import { sendRawRefusal, sendRefusal, sendReply, sendStream } from './reply.ts'
import { isRead, JsonStream, type Reply, type Route } from './route.ts'
import type { RouteMatch, RouteTable } from './route-table.ts'
import { findHeadFault } from './sockets/head.ts'
import { Pipelining } from './sockets/pipelining.ts'
import { UnsentAnswers } from './sockets/unsent-answers.ts'

export interface ServerOptions extends AuthoriseOptions, AdmitOptions {
  readonly routes: RouteTable
  readonly ingest: Admits
  readonly readiness: Pick<Readiness, 'noteRefusal'>
  readonly log: Logger
  readonly metrics: Metrics
  /** Proxies trusted to report the client's address. If undefined, no proxy is trusted. */
  readonly trusted?: BlockList | undefined
  /** BASE_URL; undefined if it is not set. */
  readonly baseUrl: string | undefined
  /** The command that replaces `spoor` in error messages. */
  readonly command: string
  readonly arrival?: Partial<ArrivalBounds> | undefined
}

/**
 * Keep-alive timeout. It exceeds the idle timeout of common proxies, so that the proxy, not this server, closes idle
 * connections.
 */
const KEEP_ALIVE_MS = 65_000
const HEADERS_TIMEOUT_MS = 20_000
/**
 * Node measures this time from a request's first byte and includes the wait for the request's turn. The timeout is
 * therefore long, and only ends requests that no other limit covers, such as a rejected request whose client keeps
 * sending. BodyReservation limits bodies that are being read.
 */
const REQUEST_TIMEOUT_MS = 600_000
/**
 * Maximum number of connections waiting to be accepted. Linux drops further connections, whose clients retry only after
 * a second (test/bench/RESULTS.md, "Many connections at once"), and caps the value at net.core.somaxconn (default
 * 4096).
 */
const BACKLOG = 4096
/** Maximum time for which a closing server keeps accepting waiting connections. */
const MOST_ACCEPTING_MS = 1000
/** Interval at which a closing server closes idle connections. */
const SWEEP_MS = 20
/** Time for which a closing server waits for a request on an open but idle connection. */
const SILENCE_MS = 250

/** Memory that a streamed response uses, regardless of its length. */
const STREAM_BYTES = 8 * 1024 * 1024

/** Logged status if the client disconnected before the response. */
const CLIENT_GONE = 499

/** Code with which Node's parser reports an HTTP/2 preface, as sent by gRPC exporters. */
const HTTP2_PREFACE = 'HPE_PAUSED_H2_UPGRADE'
const NOT_HTTP = { status: 400, message: 'The request is not valid HTTP.' }
const PARSER_REFUSALS: Readonly<Record<string, typeof NOT_HTTP>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The request line and headers are too large.' },
  [HTTP2_PREFACE]: { status: 400, message: 'This port speaks HTTP/1.1. OTLP over gRPC is served at OTLP_GRPC_PORT.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive.' }
}

export class HttpServer {
  readonly #options: ServerOptions
  readonly #server: Server
  /** Connections on which Node's parser has reported an error. */
  readonly #broken = new WeakSet<Socket>()
  /** Capacity for bodies that bypass the write path's queue, such as MCP messages. */
  readonly #messages = new Admission({ requests: Number.POSITIVE_INFINITY, bytes: 64 * 1024 * 1024 })
  readonly #reads = new RequestsUnderWay()
  readonly #arrival: ArrivalBounds
  readonly #large: Slots
  readonly #largeMemory = new LargeMemory()
  readonly #unsent = new UnsentAnswers()
  readonly #pipelining = new Pipelining(this.#unsent)
  #active = 0
  #hasSaidHttp2 = false
  #hasSaidForwarded = false
  /** Whether each response announces that its connection will close. */
  #isDraining = false

  constructor(options: ServerOptions) {
    this.#options = options
    this.#arrival = { ...ARRIVAL, ...options.arrival }
    this.#large = largeBodies(this.#arrival.waitMs)
    options.metrics.watch(
      'spoor_unread_bytes',
      'Bytes of responses that clients have not received yet, and of requests waiting behind them.',
      () => this.#unsent.bytes
    )
    options.metrics.watch(
      'spoor_reads_under_way',
      'Reads in flight in all projects, from the key check to the end of the response.',
      () => this.#reads.count
    )
    this.#server = createServer({
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      // Node itself would reject a request without a Host header, but Node's response would lack this server's headers.
      requireHostHeader: false
    })
    // With a limit, Node would drop headers beyond the limit, possibly including Content-Length. A limit on the number
    // is unnecessary, because Node limits the total size of headers.
    this.#server.maxHeadersCount = 0
    const serve = (request: IncomingMessage, response: ServerResponse) => this.#take(request, response, false)
    this.#server.on('request', serve)
    this.#server.on('checkContinue', (request, response) => this.#take(request, response, true))
    this.#server.on('checkExpectation', serve)
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      this.#refuseUnparsed(error, socket as Socket)
    )
    this.#server.on('connect', (_request, socket) => this.#refuseTunnel(socket as Socket))
  }

  /** Starts listening. Rejects with a ConfigError if the address cannot be used. */
  async listen(host: string, port: number): Promise<AddressInfo> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', error => reject(listenError(error, host, port)))
      this.#server.listen({ port, host, backlog: BACKLOG }, resolve)
    })
    return this.#server.address() as AddressInfo
  }

  /**
   * Keeps serving, but closes each connection after its next response, which announces the close. Clients then
   * reconnect, possibly to another server. Closing a connection without this announcement could lose requests that the
   * client has already sent.
   */
  drain(): void {
    this.#isDraining = true
  }

  /**
   * Stops accepting connections and waits until requests in flight are answered and their clients have received the
   * responses, or until `graceMs` passes. Does not wait for clients that have stopped reading.
   */
  async close(graceMs: number): Promise<void> {
    this.drain()
    await this.#acceptWaiting()
    const deadline = performance.now() + graceMs
    let silentSince = performance.now()
    const sweep = setInterval(() => {
      const now = performance.now()
      if (this.#active > 0 || this.#unsent.isMoving) silentSince = now
      if (now >= deadline || now - silentSince >= SILENCE_MS) this.#server.closeAllConnections()
      else this.#server.closeIdleConnections()
    }, SWEEP_MS)
    await new Promise(resolve => this.#server.close(resolve))
    clearInterval(sweep)
    this.#unsent.close()
  }

  /**
   * Accepts waiting connections, which the kernel would otherwise reset when the port closes. Node accepts one
   * connection per turn of the event loop, so a turn without a connection means that no connection is waiting.
   */
  async #acceptWaiting(): Promise<void> {
    let accepted = 0
    const count = () => void accepted++
    this.#server.on('connection', count)
    const end = performance.now() + MOST_ACCEPTING_MS
    let before: number
    do {
      before = accepted
      await new Promise(resolve => setImmediate(resolve))
      await new Promise(resolve => setImmediate(resolve))
    } while (accepted !== before && performance.now() < end)
    this.#server.off('connection', count)
  }

  #take(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const exchange = new Exchange(request, response, this.#options.baseUrl, awaitsContinue, this.#options.trusted)
    this.#pipelining.enter(exchange, () => {
      // While the request waited, the server may have sent an error response because of a parser error.
      if (response.headersSent) this.#report(exchange)
      else void this.#serve(exchange)
    })
  }

  async #serve(exchange: Exchange): Promise<void> {
    const { request, response } = exchange
    this.#active++
    const fault = findHeadFault(request)
    try {
      if (fault !== undefined) throw new Refusal('invalid_request', fault.message)
      const reply = await this.#answer(exchange)
      if (this.#isDraining) response.shouldKeepAlive = false
      if (reply.body instanceof JsonStream) await this.#stream(exchange, reply, reply.body)
      else sendReply(exchange, reply)
    } catch (error) {
      if (this.#isDraining) response.shouldKeepAlive = false
      this.#refuse(exchange, error, fault?.status)
    }
    this.#active--
    if (!exchange.streams) this.#unsent.watch(request.socket, response, exchange.bytesOut, exchange.party)
    this.#report(exchange)
  }

  /** Streams a response. As with any response, a client that stops reading is disconnected. */
  #stream(exchange: Exchange, reply: Reply, body: JsonStream): Promise<void> {
    return sendStream(exchange, reply, body, () => {
      exchange.streams = true
      this.#unsent.watch(exchange.request.socket, exchange.response, STREAM_BYTES, exchange.party)
    })
  }

  async #answer(exchange: Exchange): Promise<Reply> {
    const { endpoint, params, querystring } = this.#match(exchange)
    const { route, readQuery } = endpoint
    exchange.route = route
    exchange.params = params
    exchange.querystring = querystring
    if (route.answerHeaders !== undefined) exchange.guardHeaders = route.answerHeaders
    if (route.guard !== undefined) exchange.guardHeaders = { ...route.answerHeaders, ...route.guard(exchange) }
    const { access } = route
    if (isPersonAccess(access)) await this.#admit(exchange, access)
    else if (access !== 'public') {
      exchange.key = await authorise(this.#options, route, exchange.request.headers.authorization)
    }
    if (isRead(route)) this.#countRead(exchange)
    if (params.traceId !== undefined) exchange.traceId = readPathId('traceId', params.traceId)
    if (params.scoreId !== undefined) exchange.scoreId = readPathId('scoreId', params.scoreId)
    if (params.spanId !== undefined) exchange.spanId = readPathId('spanId', params.spanId)
    if (readQuery !== undefined) exchange.query = readQuery(querystring)
    return route.takesBody ? this.#answerWithBody(exchange, route) : route.handler(exchange)
  }

  /**
   * Counts the request as in flight until the client has received the response or has disconnected. Throws
   * `too_many_requests` if the project has too many requests in flight.
   */
  #countRead({ party, response }: Exchange): void {
    if (party === undefined) return
    this.#reads.enter(party)
    response.once('close', () => this.#reads.leave(party))
  }

  /** Authenticates the person for whom the request acts. */
  async #admit(exchange: Exchange, access: PersonAccess): Promise<void> {
    const visit = await admit(this.#options, access, exchange)
    if (visit === undefined) return
    exchange.visitor = visit.visitor
    if (visit.project !== undefined) exchange.project = visit.project
  }

  async #answerWithBody(exchange: Exchange, route: Route): Promise<Reply> {
    const { party } = exchange
    const slot = this.#large.of(party)
    const memory = this.#largeMemory.lease()
    try {
      const { headers } = exchange.request
      const encoding = contentEncoding(headers)
      const length = contentLength(headers, route.maxBodyBytes)
      // The decoded length of an encoded body is not yet known, so the maximum length is used.
      const weight = encoding === undefined ? length : route.maxBodyBytes
      if (length !== undefined && length > LARGE_BODY_BYTES) await slot.enter(weight)
      return await this.#readAndAnswer(exchange, route, encoding, { length, party, slot, memory })
    } finally {
      memory.end()
      slot.leave()
    }
  }

  async #readAndAnswer(
    exchange: Exchange,
    route: Route,
    encoding: ContentCoding | undefined,
    expected: Expected & { readonly memory: MemoryLease }
  ): Promise<Reply> {
    const { request, response } = exchange
    const admission = isQueued(route) ? this.#options.ingest : this.#messages
    const reservation = new BodyReservation(admission, expected, this.#arrival)
    try {
      if (exchange.awaitsContinue) response.writeContinue()
      exchange.awaitsContinue = false
      const { length, party, slot: large, memory } = expected
      const bounds = { limit: route.maxBodyBytes, length, large, memory, party }
      exchange.payload = await receiveBody(request, encoding, reservation, bounds)
      exchange.bytesIn = exchange.payload.length
      return await route.handler(exchange)
    } finally {
      reservation.release()
    }
  }

  #match(exchange: Exchange): RouteMatch {
    const { method = '', url = '' } = exchange.request
    const match = this.#options.routes.find(method, url)
    if (match !== undefined) return match
    const allowed = this.#options.routes.allowed(url)
    if (allowed.length === 0) {
      const hint = hintAtOtlp(url, exchange.baseUrl)
      throw new Refusal('not_found', `There is nothing at this address.${hint === undefined ? '' : ` ${hint}`}`)
    }
    const [other = ''] = allowed
    exchange.guardHeaders = this.#options.routes.find(other, url)?.endpoint.route.answerHeaders ?? {}
    const Allow = allowed.join(', ')
    throw new Refusal('method_not_allowed', `This address supports only ${Allow}.`, { Allow })
  }

  /** Returns an error whose commands can be pasted. */
  #named(error: Refusal): Refusal {
    const { command } = this.#options
    if (command === 'spoor') return error
    return new Refusal(error.code, nameCommands(error.message, command), error.headers)
  }

  /** Sends an error response. `status` differs from the code's status only for malformed requests. */
  #refuse(exchange: Exchange, error: unknown, status?: number): void {
    if (exchange.streams && !(error instanceof ClientGone)) {
      this.#options.log.error({ requestId: exchange.requestId, err: describe(error) }, 'a response was cut off')
      return
    }
    if (error instanceof ClientGone || exchange.response.destroyed) return
    // If the connection stayed open, Node would keep reading the rest of the body.
    if (error instanceof LateBody) exchange.response.shouldKeepAlive = false
    if (error instanceof Refusal) {
      this.#options.metrics.countRefusal(error.code, exchange.party)
      this.#options.readiness.noteRefusal(error.code)
      sendRefusal(exchange, this.#named(error), status)
      return
    }
    this.#options.log.error({ requestId: exchange.requestId, err: describe(error) }, 'unexpected error')
    sendRefusal(exchange, new Refusal('internal_error', 'An unexpected error; see this request id in the server log.'))
  }

  /**
   * Answers a request that Node's parser rejected because the request is not HTTP, or because its body was truncated or
   * late. Earlier requests on the connection are answered first. Then the connection closes.
   */
  #refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket): void {
    // Node emits the error again for all further data on the connection.
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    if (error.code === HTTP2_PREFACE) this.#sayHttp2()
    const { status, message } = PARSER_REFUSALS[error.code ?? ''] ?? NOT_HTTP
    const newest = this.#pipelining.newest(socket)
    if (newest === undefined || newest.request.complete) {
      this.#pipelining.afterAll(socket, () => sendRawRefusal(socket, status, message))
      return
    }
    newest.response.shouldKeepAlive = false
    sendRefusal(newest, new Refusal('invalid_request', message), status)
    // Node emits no more events for an answered request, so a reader of the request's body would wait forever.
    this.#pipelining.afterAll(socket, () => newest.request.destroy())
  }

  /** Logs once how to configure exporters that use gRPC on this port, because such exporters retry forever. */
  #sayHttp2(): void {
    if (this.#hasSaidHttp2) return
    this.#hasSaidHttp2 = true
    this.#options.log.warn(
      'an HTTP/2 connection reached the HTTP/1.1 port, probably from an OTLP exporter over gRPC: set OTLP_GRPC_PORT ' +
        '(usually 4317) and send there, or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf in the application; this is logged once'
    )
  }

  /**
   * Logs once that X-Forwarded-For is ignored. Behind a proxy that TRUST_PROXY does not name, all clients appear as a
   * single client and share one limit on password attempts.
   */
  #sayForwarded({ peer }: Exchange): void {
    const { trusted, log } = this.#options
    if (trusted !== undefined && isWithin(trusted, peer)) return
    this.#hasSaidForwarded = true
    log.warn(
      { peer: plainAddress(peer) },
      'X-Forwarded-For came from a peer that is not in TRUST_PROXY, so it is ignored. If that is your proxy, add it; ' +
        'otherwise all its clients appear as one address in the log, and share one limit on password attempts. ' +
        'This is logged once'
    )
  }

  #refuseTunnel(socket: Socket): void {
    // Node's own listeners are no longer attached to this socket, and an error event without a listener would end the
    // process.
    socket.on('error', () => {})
    const message = 'This server is not a proxy: CONNECT is not supported.'
    this.#pipelining.afterAll(socket, () => sendRawRefusal(socket, 400, message))
  }

  #report(exchange: Exchange): void {
    const { log, metrics } = this.#options
    const { requestId, request, response, path, route, startedAt, bytesIn, bytesOut, key, visitor, client } = exchange
    if (
      !this.#hasSaidForwarded &&
      request.headers['x-forwarded-for'] !== undefined &&
      client === plainAddress(exchange.peer)
    ) {
      this.#sayForwarded(exchange)
    }
    const status = response.headersSent ? response.statusCode : CLIENT_GONE
    const ms = Math.round((performance.now() - startedAt) * 100) / 100
    const operation = route?.operation ?? route?.path
    metrics.countRequest(operation ?? 'unknown', status, ms)
    metrics.countProject(exchange.party, bytesOut)
    const { method } = request
    const whom = { keyId: key?.keyId, keyLabel: key?.label, user: visitor?.userId }
    const project = exchange.party
    logRequest(log, {
      requestId,
      method,
      path,
      route: operation,
      status,
      code: exchange.refusalCode,
      ms,
      bytesIn,
      bytesOut,
      client,
      ...whom,
      project
    })
  }
}

/** Returns whether a route's bodies pass through the write path's queue, in which their memory is reserved. */
function isQueued({ access }: Route): boolean {
  return access === 'traces:write'
}

/** Returns an error's fields for the log. Other fields of a database error may contain client data. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack } = error
  return { type: name, code: (error as NodeJS.ErrnoException).code, message, stack }
}
