/** Reads the parts of a JSON-RPC message or batch that spoor must know before the SDK processes the message. */

import { Refusal } from '../errors.ts'
import { MAX_JSON_DEPTH } from '../schema/input.ts'
import { type ParsedBody, parseBody, readBody } from '../trace/body.ts'
import { plainNumber, stringifyExact } from '../trace/json/exact-json.ts'
import type { Arguments } from './tool.ts'

/** Nesting levels that enclose a call's arguments: the batch, the message and its parameters. */
const ENVELOPE_LEVELS = 3
const MAX_DEPTH = MAX_JSON_DEPTH + ENVELOPE_LEVELS
const MAX_BATCH = 50
/**
 * Maximum size, in bytes, of a message that is parsed on the main thread. Parsing such a message takes a few
 * milliseconds at most.
 */
export const SMALL_BYTES = 64 * 1024
/** The tool whose arguments are a request body of up to 2 MiB. */
const LARGE_TOOL = 'record_trace'

interface Call {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: { readonly name?: unknown; arguments?: Arguments | null } | null
}

export interface RpcMessage extends ParsedBody {
  /** Arguments of a large message's record_trace calls. The `body` field of each call is the index of its arguments. */
  readonly bodies?: readonly Uint8Array[]
}

/** A large message, split into the extracted bodies and the remaining text. */
export interface LargeMessage {
  readonly text: string
  readonly bodies: readonly Uint8Array[]
}

/** Parses a large message on another thread (lib/threads). */
export type LargeMessageParser = (bytes: Uint8Array) => Promise<LargeMessage>

/**
 * Reads the message in a body. Resolves to a Refusal if the body is not JSON or exceeds a size, depth or batch limit.
 */
export async function readMessage(bytes: Uint8Array, parseLarge: LargeMessageParser): Promise<RpcMessage | Refusal> {
  try {
    if (bytes.length <= SMALL_BYTES) return checkBatch(readBody(bytes, 'invalid_request', MAX_DEPTH))
    const { text, bodies } = await parseLarge(bytes)
    return { ...parseBody(text, 'invalid_request', MAX_DEPTH), bodies }
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/**
 * Reads a message that is too large for the main thread. Only record_trace's arguments may be large. These arguments
 * are extracted as bytes for the write path. The rest of the message must be small.
 */
export function readLargeMessage(bytes: Uint8Array): LargeMessage {
  const { exact, inexact } = checkBatch(readBody(bytes, 'invalid_request', MAX_DEPTH))
  const bodies: Uint8Array[] = []
  for (const { params } of callsIn(exact)) {
    if (params?.name !== LARGE_TOOL || typeof params.arguments !== 'object') continue
    const index = bodies.push(Buffer.from(stringifyExact(params.arguments, inexact))) - 1
    params.arguments = { body: index }
  }
  const text = stringifyExact(exact, inexact)
  if (text.length <= SMALL_BYTES) return { text, bodies }
  const rule = `must have at most ${SMALL_BYTES} bytes, not counting the arguments of ${LARGE_TOOL}`
  throw new Refusal('payload_too_large', `body: ${rule}`)
}

function checkBatch(message: ParsedBody): ParsedBody {
  const { value } = message
  if (!Array.isArray(value) || value.length <= MAX_BATCH) return message
  throw new Refusal('invalid_request', `body: must be a batch of at most ${MAX_BATCH} messages`)
}

/** Returns record_trace arguments that were extracted from a large message, or undefined for any other call. */
export function bodyOf({ bodies }: RpcMessage, name: string, args: Arguments): Uint8Array | undefined {
  return name === LARGE_TOOL ? bodies?.[args.body as number] : undefined
}

/** Returns the names of the tools that a message calls. For an invalid message, the list may be empty. */
export function calledTools({ value }: Pick<ParsedBody, 'value'>): unknown[] {
  return callsIn(value).map(call => call.params?.name)
}

/** Returns the arguments of the call with this id, with numbers as sent. */
export function exactArguments({ exact }: ParsedBody, id: unknown): Arguments | undefined {
  return callsIn(exact).find(call => plainNumber(call.id) === id)?.params?.arguments ?? undefined
}

function callsIn(value: unknown): Call[] {
  const messages: unknown[] = Array.isArray(value) ? value : [value]
  return messages.filter(message => (message as Call | null)?.method === 'tools/call') as Call[]
}
