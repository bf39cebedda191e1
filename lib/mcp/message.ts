/** A JSON-RPC message, or a batch of them, as far as it must be understood before the SDK is given it. */
import { Refusal } from '../errors.ts'
import { MAX_JSON_DEPTH } from '../schema/input.ts'

import { type Body, readBody } from '../trace/body.ts'
import type { Arguments } from './tool.ts'

/** Levels around the arguments of a call: the batch, the message and its parameters. */
const ENVELOPE_LEVELS = 3

interface Call {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: { readonly name?: unknown; readonly arguments?: Arguments } | null
}

/** The message in a body, or why there is none: `invalid_json`, or `invalid_request` for its depth. */
export function readMessage(bytes: Uint8Array): Body | Refusal {
  try {
    return readBody(bytes, 'invalid_request', MAX_JSON_DEPTH + ENVELOPE_LEVELS)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** The names of the tools that a message calls, as far as it is a message at all. */
export function calledTools({ value }: Body): unknown[] {
  return callsIn(value).map(call => call.params?.name)
}

/** The arguments of the call with this id, every number as it was sent. */
export function exactArguments({ exact }: Body, id: unknown): Arguments | undefined {
  return callsIn(exact).find(call => call.id === id)?.params?.arguments
}

function callsIn(value: unknown): Call[] {
  const messages: unknown[] = Array.isArray(value) ? value : [value]
  return messages.filter(message => (message as Call | null)?.method === 'tools/call') as Call[]
}
