/** State of one request, for its handler and its log line. */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type BlockList, isIP } from 'node:net'
import { maskSecrets } from '../access/keys.ts'
import type { RefusalCode } from '../errors.ts'
import { isWithin, plainAddress } from '../network-list.ts'
import type { VisitedProject, Visitor } from '../people/visit.ts'
import type { Principal } from '../schema/principal.ts'
import type { RequestOf, Route } from './route.ts'

const NO_BYTES = new Uint8Array()

/** Request ids consist of 16 random characters per process and a counter, so they are unique and cheap to generate. */
const PROCESS_PREFIX = randomBytes(8).toString('hex')
const COUNTER_LENGTH = 8
let counter = 0

/** Returns the next X-Request-Id: 24 characters of [0-9a-z]. */
export function nextRequestId(): string {
  return PROCESS_PREFIX + (counter++).toString(36).padStart(COUNTER_LENGTH, '0')
}

export class Exchange implements RequestOf<Record<string, unknown>> {
  readonly requestId = nextRequestId()
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Start time, in ms of performance.now(). */
  readonly startedAt = performance.now()
  /** The request's route; undefined until it is known. */
  route: Route | undefined
  /** `key`, `visitor` and `project` are set only on routes that require or read these fields. */
  key!: Principal
  visitor!: Visitor
  project!: VisitedProject
  traceId = ''
  scoreId = ''
  spanId = ''
  params: Readonly<Record<string, string | undefined>> = {}
  /** Headers that the route and its guard add to the response. */
  guardHeaders: Readonly<Record<string, string>> = {}
  query: Record<string, unknown> = {}
  querystring = ''
  payload: Uint8Array = NO_BYTES
  /** Whether the client waits for permission before it sends the body (Expect: 100-continue). */
  awaitsContinue: boolean
  /** Sizes of the decoded request body and of the response body, in bytes. */
  bytesIn = 0
  bytesOut = 0
  /** Whether the response is sent while it is being generated. */
  streams = false
  /** Error code of the response, if the request was refused. */
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

  /**
   * Aborts when the client disconnects. The signal is created on first use, because most handlers never read the
   * signal.
   */
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

  /** Returns the path for the log, without key secrets and without the query, which may contain private data. */
  get path(): string {
    const url = this.request.url ?? ''
    const end = url.indexOf('?')
    return maskSecrets(url.slice(0, Math.min(end === -1 ? url.length : end, MAX_LOGGED_PATH)))
  }
}

const MAX_LOGGED_PATH = 200
/** Matches a host name or address with an optional port. Other Host headers are never echoed in a response. */
const HOST = /^(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?$/

/**
 * Returns the client's address: the last address in the chain of proxies that does not belong to a trusted proxy.
 * `peer` is the address of the other end of the socket. Each proxy appends its caller's address to X-Forwarded-For.
 * Only entries written by trusted proxies (TRUST_PROXY) are used, because clients can forge other entries.
 */
export function clientAddress(peer: string, forwarded: string | undefined, trusted: BlockList | undefined): string {
  let client = plainAddress(peer)
  if (trusted === undefined || forwarded === undefined) return client
  const hops = forwarded.split(',')
  while (hops.length > 0 && isWithin(trusted, client)) {
    const next = addressOf(hops.pop() as string)
    if (next === undefined) break
    client = next
  }
  return client
}

/** Returns an entry's address without its port: `192.0.2.1`, `192.0.2.1:1234`, `2001:db8::1`, `[2001:db8::1]:1234`. */
function addressOf(entry: string): string | undefined {
  const [, bracketed, v4] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(entry.trim()) ?? []
  const address = bracketed ?? v4 ?? entry.trim()
  return isIP(address) === 0 ? undefined : plainAddress(address)
}
