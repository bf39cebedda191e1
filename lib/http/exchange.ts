/** One request on its way through the server: what its handler is given, and what its log line says. */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { BlockList } from 'node:net'
import { maskSecrets } from '../access/keys.ts'
import type { RefusalCode } from '../errors.ts'
import type { VisitedProject, Visitor } from '../people/visit.ts'
import type { Principal } from '../schema/principal.ts'
import { clientAddress } from './client-address.ts'
import type { RequestOf, Route } from './route.ts'

const NO_BYTES = new Uint8Array()

/** A request id is made of 16 random characters for the process and a counter, so it is unique and cheap to make. */
const PROCESS_PREFIX = randomBytes(8).toString('hex')
const COUNTER_LENGTH = 8
let counter = 0

/** Makes the X-Request-Id of the next request: 24 characters of [0-9a-z]. */
export function nextRequestId(): string {
  return PROCESS_PREFIX + (counter++).toString(36).padStart(COUNTER_LENGTH, '0')
}

export class Exchange implements RequestOf<Record<string, unknown>> {
  readonly requestId = nextRequestId()
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** In ms of performance.now(). */
  readonly startedAt = performance.now()
  /** Undefined until the route is known. */
  route: Route | undefined
  /** Undefined for routes that do not ask for it, and do not use it. The same holds for the next two. */
  key!: Principal
  visitor!: Visitor
  project!: VisitedProject
  traceId = ''
  scoreId = ''
  spanId = ''
  params: Readonly<Record<string, string | undefined>> = {}
  /** Headers that the route, and its guard, add to the answer. */
  guardHeaders: Readonly<Record<string, string>> = {}
  query: Record<string, unknown> = {}
  querystring = ''
  payload: Uint8Array = NO_BYTES
  /** Whether the client waits for permission before it sends the body (Expect: 100-continue). */
  awaitsContinue: boolean
  /** Bytes of the decoded body, and of the answer's body. */
  bytesIn = 0
  bytesOut = 0
  /** The code of the refusal with which it was answered. */
  refusalCode: RefusalCode | undefined
  readonly #publicUrl: string | undefined
  readonly #trusted: BlockList | undefined
  #abort: AbortController | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    publicUrl: string | undefined,
    awaitsContinue: boolean,
    trusted?: BlockList
  ) {
    this.request = request
    this.response = response
    this.#publicUrl = publicUrl
    this.#trusted = trusted
    this.awaitsContinue = awaitsContinue
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers
  }

  get localPort(): number {
    return this.request.socket.localPort ?? 0
  }

  get peer(): string {
    return this.request.socket.remoteAddress ?? ''
  }

  get client(): string {
    return clientAddress(this.peer, this.headers['x-forwarded-for'] as string | undefined, this.#trusted)
  }

  get baseUrl(): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl
    const host = this.headers.host ?? ''
    if (HOST.test(host)) return `http://${host}`
    const { localAddress = '' } = this.request.socket
    return `http://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${this.localPort}`
  }

  get party(): number | undefined {
    return this.key?.projectId ?? this.project?.id
  }

  /** Aborts when the client goes away. The signal is made when it is first asked for, which most handlers never do. */
  get signal(): AbortSignal {
    if (this.#abort !== undefined) return this.#abort.signal
    const abort = new AbortController()
    this.#abort = abort
    const leave = () => {
      if (!this.response.writableFinished) abort.abort()
    }
    if (this.response.closed) leave()
    else this.response.once('close', leave)
    return abort.signal
  }

  /** The path for the log, without the secrets of keys and without the query, which can hold what is private. */
  get path(): string {
    const url = this.request.url ?? ''
    const end = url.indexOf('?')
    return maskSecrets(url.slice(0, Math.min(end === -1 ? url.length : end, MAX_LOGGED_PATH)))
  }
}

const MAX_LOGGED_PATH = 200
/** A host name or an address, with or without a port. No other Host header is repeated in an answer. */
const HOST = /^(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?$/
