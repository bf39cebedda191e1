/** Sends responses: converts a handler's value or a refusal to bytes, with the headers of every response. */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { RETRY_AFTER_S, type Refusal, type RefusalCode } from '../errors.ts'
import { textWriter } from '../limits/list-writer.ts'
import { Slices } from '../limits/slices.ts'
import { MAX_BODY_BYTES } from '../schema/input.ts'
import { PROTOBUF_TYPE } from '../schema/otlp.ts'
import { type Exchange, nextRequestId } from './exchange.ts'
import { isOtlpAddress, isProtobuf } from './otlp/otlp-address.ts'
import { encodeStatus } from './otlp/rpc-status.ts'
import { Content, JsonPieces, type JsonStream, JsonText, type Reply } from './route.ts'

const JSON_TYPE = 'application/json'

/**
 * Limits of `linger`: the total time, the number of discarded bytes, and the time for which a client may send nothing.
 */
const LINGER = { ms: 20_000, bytes: 16 * 1024 * 1024, silenceMs: 2000 }

const PIECE_BYTES = 65_536
/**
 * Number of bytes written before other requests get a turn. Writing this amount takes half a millisecond if the client
 * reads quickly.
 */
const TURN_BYTES = 256 * 1024

type Body = string | Uint8Array | readonly Uint8Array[]

/** Headers of every error with a given code. */
const ERROR_HEADERS: { readonly [code in RefusalCode]?: readonly string[] } = {
  invalid_api_key: ['WWW-Authenticate', 'Bearer'],
  quota_exhausted: ['Retry-After', String(RETRY_AFTER_S)],
  too_many_requests: ['Retry-After', String(RETRY_AFTER_S)],
  unavailable: ['Retry-After', String(RETRY_AFTER_S)]
}

export function sendReply(exchange: Exchange, reply: Reply): void {
  const { status = 200, headers, body } = reply
  const [type, bytes] = render(body)
  write(exchange, status, type, bytes, headers)
}

/**
 * Sends an error as the JSON envelope, or as a `google.rpc.Status` for protobuf OTLP requests, because their senders
 * cannot read JSON. `status` differs from the code's status only for malformed requests.
 */
export function sendRefusal(exchange: Exchange, refusal: Refusal, status: number = refusal.status): void {
  const { code, message, headers } = refusal
  exchange.refusalCode = code
  const [type, bytes] = asksForStatus(exchange)
    ? [PROTOBUF_TYPE, encodeStatus(refusal)]
    : [JSON_TYPE, envelope(code, message, exchange.requestId)]
  write(exchange, status, type, bytes, headers, ERROR_HEADERS[code])
}

function asksForStatus({ route, request }: Exchange): boolean {
  const isOtlp = route === undefined ? isOtlpAddress(request.url ?? '') : route.binary !== undefined
  return isOtlp && isProtobuf(request.headers)
}

/**
 * Sends a response on a bare socket, and then closes the socket. If Node's parser rejects a request, no response object
 * exists.
 */
export function sendRawRefusal(socket: Socket, status: number, message: string): void {
  if (!socket.writable) return
  const requestId = nextRequestId()
  const body = envelope('invalid_request', message, requestId)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-Id: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close'
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  setTimeout(() => socket.destroy(), LINGER.silenceMs).unref()
}

/** Returns a refusal's error object (specification, section 7) as JSON text. */
export function envelope(code: RefusalCode, message: string, requestId: string): string {
  return JSON.stringify({ error: { code, message, requestId } })
}

function render(body: unknown): [type: string | undefined, bytes: Body] {
  if (body === undefined) return [undefined, '']
  if (body instanceof JsonText) return [JSON_TYPE, body.text]
  if (body instanceof JsonPieces) return [JSON_TYPE, body.pieces]
  if (body instanceof Content) return [body.type, body.bytes]
  return [JSON_TYPE, JSON.stringify(body)]
}

/**
 * Minimum pace, in bytes per second, at which a client must receive a streamed response, and the initial time during
 * which no pace is required. A stream holds a database connection, so the time that a client may take must be limited.
 */
const PACE = { bytesPerS: 64 * 1024, graceMs: 30_000 }

/**
 * Sends a response while it is being generated. Each piece is sent after the client has received the previous piece.
 * `onBegun` is called when the first bytes are written. If generating the response fails later, the connection is
 * closed, so that the client notices the failure.
 */
export async function sendStream(
  exchange: Exchange,
  { status = 200, headers }: Reply,
  stream: JsonStream,
  onBegun: () => void
): Promise<void> {
  const { response, request } = exchange
  const pieces: string[] = []
  let length = 0
  let waitedMs = 0
  const flush = async () => {
    if (response.destroyed) throw new StreamCut('the client disconnected')
    if (!response.headersSent) {
      writeHead(exchange, status, JSON_TYPE, undefined, headers)
      onBegun()
    }
    const bytes = pieces.join('')
    pieces.length = 0
    length = 0
    exchange.bytesOut += bytes.length
    if (response.write(bytes, 'latin1')) return
    const began = performance.now()
    await taken(response)
    waitedMs += performance.now() - began
    if (waitedMs > PACE.graceMs + (exchange.bytesOut / PACE.bytesPerS) * 1000)
      throw new StreamCut('the client is too slow')
  }
  try {
    if (request.method === 'HEAD') {
      writeHead(exchange, status, JSON_TYPE, undefined, headers)
      response.end()
      return
    }
    const slices = new Slices()
    const write = async (part: string) => {
      pieces.push(part)
      length += part.length
      if (length < PIECE_BYTES) return
      await flush()
      await slices.next()
    }
    await stream.send(textWriter(write))
    if (length > 0) await flush()
    response.end()
  } catch (error) {
    const isClients = error instanceof StreamCut || response.destroyed
    if (response.headersSent) response.destroy()
    if (!isClients) throw error
  }
}

/** Thrown if the client has stopped reading the response. */
class StreamCut extends Error {}

/** Waits until the client has received all data written so far, or has disconnected. */
function taken(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      response.off('drain', end)
      response.off('close', end)
      resolve()
    }
    response.on('drain', end)
    response.on('close', end)
    if (response.destroyed) end()
  })
}

function write(
  exchange: Exchange,
  status: number,
  type: string | undefined,
  bytes: Body,
  more: NonNullable<Reply['headers']> = {},
  fixed: readonly string[] = []
): void {
  const { response } = exchange
  if (response.destroyed || response.headersSent) return
  const length = lengthOf(bytes)
  exchange.bytesOut = exchange.request.method === 'HEAD' ? 0 : length
  const hangsUp = mustHangUp(exchange)
  if (hangsUp) response.shouldKeepAlive = false
  writeHead(exchange, status, type, length, more, fixed)
  if (hangsUp) {
    for (const piece of piecesOf(bytes)) response.write(piece)
    linger(exchange)
  } else end(response, bytes)
}

/** Writes the headers. `length` is undefined if the response's length is not known yet. */
function writeHead(
  exchange: Exchange,
  status: number,
  type: string | undefined,
  length: number | undefined,
  more: NonNullable<Reply['headers']> = {},
  fixed: readonly string[] = []
): void {
  // Browsers must not guess another content type, because API responses contain recorded data.
  const headers = ['X-Request-Id', exchange.requestId, 'X-Content-Type-Options', 'nosniff', ...fixed]
  for (const name in exchange.guardHeaders) headers.push(name, exchange.guardHeaders[name]!)
  let cacheControl = 'no-store'
  for (const name in more) {
    const value = more[name]!
    if (typeof value !== 'string') for (const each of value) headers.push(name, each)
    else if (name.toLowerCase() === 'cache-control') cacheControl = value
    else headers.push(name, value)
  }
  headers.push('Cache-Control', cacheControl)
  if (type !== undefined) headers.push('Content-Type', type)
  if (length !== undefined && status !== 204 && status !== 304) headers.push('Content-Length', String(length))
  exchange.response.writeHead(status, headers)
}

/**
 * Sends a large response in pieces. Each piece is sent after the client has received the previous piece, so that
 * lib/http/sockets/unsent-answers.ts can see whether the client is reading.
 */
export function end(response: ServerResponse, bytes: Body): void {
  const [first, ...rest] = piecesOf(bytes)
  if (rest.length === 0 && (first === undefined || first.length <= PIECE_BYTES)) {
    response.end(first)
    return
  }
  const parts = cut([first!, ...rest])
  let written = 0
  const send = () => {
    if (response.destroyed) return
    for (let part = parts.next(); !part.done; part = parts.next()) {
      const isTaken = response.write(part.value)
      written += part.value.length
      if (!isTaken) {
        response.once('drain', send)
        return
      }
      if (written < TURN_BYTES) continue
      written = 0
      setImmediate(send)
      return
    }
    response.end()
  }
  send()
}

const lengthOf = (bytes: Body): number =>
  typeof bytes === 'string'
    ? Buffer.byteLength(bytes)
    : bytes instanceof Uint8Array
      ? bytes.length
      : bytes.reduce((sum, piece) => sum + piece.length, 0)

/**
 * Returns the body's pieces. A long string is encoded first, because a queued string would use its memory twice: as a
 * string and as encoded bytes.
 */
function piecesOf(bytes: Body): readonly (string | Uint8Array)[] {
  if (typeof bytes === 'string') return [bytes.length <= PIECE_BYTES ? bytes : Buffer.from(bytes)]
  return bytes instanceof Uint8Array ? [bytes] : bytes
}

/** Yields parts of at most PIECE_BYTES. */
function* cut(pieces: readonly (string | Uint8Array)[]): Generator<Uint8Array> {
  for (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
  }
}

/**
 * Returns whether the connection must close because the rest of the request may be too long to read. Otherwise, Node
 * reads the rest, at most MAX_BODY_BYTES, and the connection stays open.
 */
function mustHangUp({ request, awaitsContinue }: Exchange): boolean {
  if (request.complete) return false
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  return awaitsContinue || encoding !== undefined || Number(length ?? 0) > MAX_BODY_BYTES
}

/**
 * Closes a connection whose client is still sending. After an immediate close, the client's kernel would discard the
 * response, so this function first sends the response, then reads and drops incoming data, and only then closes the
 * connection.
 */
function linger({ request, response }: Exchange): void {
  let bytes = 0
  const silence = setTimeout(hangUp, LINGER.silenceMs)
  const limit = setTimeout(hangUp, LINGER.ms)
  function hangUp(): void {
    clearTimeout(silence)
    clearTimeout(limit)
    response.end()
  }
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > LINGER.bytes) hangUp()
    else silence.refresh()
  })
  request.once('end', hangUp)
  request.once('close', hangUp)
  request.resume()
}
