/** Receives and decodes request bodies without exceeding the limit. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  gunzip,
  inflate,
  inflateRaw,
  type ZlibOptions
} from 'node:zlib'
import { Refusal } from '../../errors.ts'
import { FairGate } from '../../limits/fair-gate.ts'
import type { Slot } from '../../limits/slots.ts'
import { LARGE_BODY_BYTES, MAX_BODY_BYTES } from '../../schema/input.ts'
import type { BodyReservation } from './body-reservation.ts'
import type { LargeBytes, MemoryLease } from './large-memory.ts'

/** Thrown if the client disconnects before its request is complete, so no response can be sent. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

export type ContentCoding = 'gzip' | 'deflate' | 'br'

type Decoder = (bytes: Uint8Array, options: ZlibOptions) => Promise<Buffer>
const inflateZlib = promisify<Uint8Array, ZlibOptions, Buffer>(inflate)
const inflateBare = promisify<Uint8Array, ZlibOptions, Buffer>(inflateRaw)
const DECODERS: Readonly<Record<ContentCoding, Decoder>> = {
  gzip: promisify<Uint8Array, ZlibOptions, Buffer>(gunzip),
  // HTTP's deflate is the zlib format, whose first byte ends in the hex digit 8, but some clients omit the zlib frame.
  deflate: (bytes, options) => (isZlib(bytes) ? inflateZlib : inflateBare)(bytes, options),
  br: promisify<Uint8Array, ZlibOptions, Buffer>(brotliDecompress)
}
const isZlib = (bytes: Uint8Array): boolean => (bytes[0] ?? 0) % 16 === 8

/** Decoders for large bodies. The decoders' output is read in chunks. */
const CHUNKED_DECODERS = {
  gzip: (_: Uint8Array, options: ZlibOptions) => createGunzip(options),
  deflate: (bytes: Uint8Array, options: ZlibOptions) => (isZlib(bytes) ? createInflate : createInflateRaw)(options),
  br: (_: Uint8Array, options: ZlibOptions) => createBrotliDecompress(options)
}

/** RFC 9110 tells recipients to treat `x-gzip` as `gzip`. */
const withoutAlias = (name: string): string => (name === 'x-gzip' ? 'gzip' : name)

/**
 * Returns the body's encoding, or undefined if the body is not encoded. Throws `unsupported_encoding` for an unknown
 * encoding.
 */
export function contentEncoding(headers: IncomingHttpHeaders): ContentCoding | undefined {
  const header = headers['content-encoding']
  if (header === undefined) return undefined
  const names = header
    .split(',')
    .map(name => withoutAlias(name.trim().toLowerCase()))
    .filter(name => name !== '' && name !== 'identity')
  const [name] = names
  if (name === undefined) return undefined
  if (names.length === 1 && Object.hasOwn(DECODERS, name)) return name as ContentCoding
  throw new Refusal('unsupported_encoding', 'Content-Encoding: must be gzip, deflate or br')
}

/**
 * Returns the body's declared length, or undefined if the body is chunked. Throws `payload_too_large` if the length
 * exceeds the limit.
 */
export function contentLength(headers: IncomingHttpHeaders, limit = MAX_BODY_BYTES): number | undefined {
  const header = headers['content-length']
  if (header === undefined) return headers['transfer-encoding'] === undefined ? 0 : undefined
  const length = Number(header)
  if (length > limit) throw tooLarge(limit)
  return length
}

/** The methods of a BodyReservation that monitor a body's arrival. */
export type Arrival = Pick<BodyReservation, 'onGiveUp' | 'grow' | 'pause' | 'resume' | 'settle'>

/**
 * Reads and decodes the whole body. Throws `payload_too_large` as soon as the received or decoded bytes exceed the
 * limit, `quota_exhausted` if memory is exhausted, `invalid_json` if decoding fails, LateBody if the body arrives too
 * slowly, and ClientGone if the client disconnects.
 */
export async function receiveBody(
  request: IncomingMessage,
  encoding: ContentCoding | undefined,
  arrival: Arrival,
  bounds: BodyBounds
): Promise<Buffer> {
  const bytes = await readBytes(request, arrival, bounds)
  arrival.settle()
  if (encoding === undefined) return bytes
  const decoded = await decodeInTurn(bytes, encoding, bounds)
  arrival.grow(decoded.length)
  return decoded
}

export interface BodyBounds {
  /** Maximum decoded size in bytes. Defaults to MAX_BODY_BYTES. */
  readonly limit?: number | undefined
  /** Announced length before decoding; undefined if the body is chunked. */
  readonly length?: number | undefined
  /** Slot and memory that a large body uses. */
  readonly large: Slot
  readonly memory: MemoryLease
  /** The body's project. Projects take turns decoding bodies. */
  readonly party: number | undefined
}

/**
 * Decodes a body when its project's turn comes. If the body proves to be large, waits for a slot and decodes the body
 * again.
 */
async function decodeInTurn(bytes: Buffer, encoding: ContentCoding, bounds: BodyBounds): Promise<Buffer> {
  const { limit = MAX_BODY_BYTES, large, memory, party } = bounds
  const most = large.isInside ? limit : Math.min(limit, LARGE_BODY_BYTES)
  await decoding.enter(party)
  const decoded = await (large.isInside
    ? decodeLarge(bytes, encoding, most, memory.take(most))
    : decode(bytes, encoding, most)
  ).finally(() => decoding.leave())
  if (decoded !== undefined) return decoded
  if (most === limit) throw tooLarge(limit)
  await large.enter(limit)
  return decodeInTurn(bytes, encoding, bounds)
}

/**
 * Limits concurrent decoding. No memory can be reserved for a decoded body, because its length is not known in advance.
 */
const decoding = new FairGate(8)

function readBytes(request: IncomingMessage, arrival: Arrival, bounds: BodyBounds): Promise<Buffer> {
  const { limit = MAX_BODY_BYTES, length: announced, large, memory } = bounds
  return new Promise((resolve, reject) => {
    let chunks = new Chunks()
    let whole: LargeBytes | undefined
    let length = 0
    const stop = (error: unknown) => {
      request.off('data', take).off('end', finish).pause()
      reject(error)
    }
    const finish = () => resolve(whole?.bytes ?? chunks.join(length))
    const take = (chunk: Buffer) => {
      length += chunk.length
      try {
        if (length > limit) throw tooLarge(limit)
        arrival.grow(length)
        ;(whole ?? chunks).add(chunk)
        if (length <= LARGE_BODY_BYTES || whole !== undefined) return
        if (large.isInside) takeMemory()
        else void waitForTurn()
      } catch (error) {
        stop(error)
      }
    }
    const takeMemory = () => {
      if (whole !== undefined) return
      whole = memory.take(announced ?? limit)
      for (const piece of chunks.pieces) whole.add(piece)
      chunks = new Chunks()
    }
    /** Stops reading a body that has proved to be large until the body gets its slot. */
    const waitForTurn = async () => {
      request.pause()
      arrival.pause()
      try {
        await large.enter(limit)
        takeMemory()
        arrival.resume()
        request.resume()
      } catch (error) {
        stop(error)
      }
    }
    const leave = () => {
      if (!request.complete) reject(new ClientGone('The client disconnected'))
    }
    // A closed request emits no more events.
    if (request.destroyed) reject(new ClientGone('The client disconnected'))
    arrival.onGiveUp(stop)
    request.on('data', take)
    request.on('end', finish)
    request.on('error', leave)
    request.on('close', leave)
  })
}

/**
 * Minimum size, in bytes, of a chunk that keeps its own Buffer. Smaller chunks are copied into a shared buffer, because
 * a Buffer for a single byte takes about a hundred bytes.
 */
const SMALL_CHUNK = 1024
const TAIL_BYTES = 16_384

/** Collects the received bytes of a body in few pieces, even if the chunks are small. */
class Chunks {
  readonly #pieces: Buffer[] = []
  /** Buffer for small chunks. The buffer is filled up to `#end`; bytes from `#start` on are not yet part of a piece. */
  #tail = Buffer.alloc(0)
  #end = 0
  #start = 0

  add(chunk: Buffer): void {
    if (chunk.length >= SMALL_CHUNK || (this.#pieces.length === 0 && this.#end === 0)) {
      this.#cut()
      this.#pieces.push(chunk)
      return
    }
    if (this.#end + chunk.length > this.#tail.length) {
      this.#cut()
      this.#tail = Buffer.allocUnsafeSlow(TAIL_BYTES)
      this.#start = this.#end = 0
    }
    this.#end += chunk.copy(this.#tail, this.#end)
  }

  get pieces(): readonly Buffer[] {
    this.#cut()
    return this.#pieces
  }

  join(length: number): Buffer {
    const { pieces } = this
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length)
  }

  #cut(): void {
    if (this.#end > this.#start) this.#pieces.push(this.#tail.subarray(this.#start, this.#end))
    this.#start = this.#end
  }
}

/** Maximum size, in bytes, of one chunk of a decoder's output. */
const CHUNK_BYTES = 65_536

/** Decodes the bytes. Returns undefined if the result exceeds the limit. */
async function decode(bytes: Buffer, encoding: ContentCoding, limit: number): Promise<Buffer | undefined> {
  // The output buffer lives as long as the body, so a small body gets a small buffer.
  const chunkSize = Math.min(CHUNK_BYTES, Math.max(1024, bytes.length * 8))
  try {
    return await DECODERS[encoding](bytes, { maxOutputLength: limit, chunkSize })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw notWhole(encoding)
  }
}

/** Decodes the bytes into memory that is already allocated. Returns undefined if the result exceeds the limit. */
async function decodeLarge(bytes: Buffer, encoding: ContentCoding, limit: number, decoded: LargeBytes) {
  const decoder = CHUNKED_DECODERS[encoding](bytes, { chunkSize: CHUNK_BYTES })
  decoder.end(bytes)
  try {
    for await (const chunk of decoder) {
      // Leaving the loop destroys the decoder.
      if (decoded.length + chunk.length > limit) return undefined
      decoded.add(chunk)
    }
  } catch {
    throw notWhole(encoding)
  }
  return decoded.bytes
}

const notWhole = (encoding: ContentCoding) => new Refusal('invalid_json', `body: is not valid ${encoding} data`)

function tooLarge(limit: number): Refusal {
  return new Refusal('payload_too_large', `body: must have at most ${limit} bytes after decoding`)
}
