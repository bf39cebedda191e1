/** The failures of ordinary traces, as the exception events that instrumentation records. */
import type { SpanInput } from '../../schema/input.ts'
import { choose, integer, type Random } from './random.ts'

export interface DemoFailure {
  readonly type: string
  readonly message: string
  /** Duration of the failing call, in milliseconds, if the failure determines the duration. */
  readonly durationMs?: number
}

export const rateLimit = (model: string, random: Random): DemoFailure => ({
  type: 'RateLimitError',
  message: `429: rate limit reached for ${model}: 200000 tokens per minute. Try again in ${integer(1, 20, random)} s.`,
  durationMs: integer(60, 240, random)
})
export const timeout = (random: Random): DemoFailure => {
  const seconds = choose([30, 60], random)
  return {
    type: 'APITimeoutError',
    message: `Request timed out after ${seconds} s`,
    durationMs: seconds * 1000 + integer(1, 40, random)
  }
}
export const overloaded = (random: Random): DemoFailure => ({
  type: 'InternalServerError',
  message: '529: the model is overloaded, please try again later',
  durationMs: integer(900, 4000, random)
})
export const contextTooLong = (tokens: number): DemoFailure => ({
  type: 'BadRequestError',
  message: `400 context_length_exceeded: the prompt has ${tokens} tokens, the model's limit is 200000`,
  durationMs: 310
})
export const databaseFailure = (random: Random): DemoFailure =>
  choose(
    [
      {
        type: 'ConnectionError',
        message: `connect ECONNREFUSED 10.0.4.${integer(2, 30, random)}:5432`,
        durationMs: 12
      },
      { type: 'DatabaseError', message: 'canceling statement due to statement timeout', durationMs: 5002 },
      { type: 'HTTPError', message: `503 from http://orders.internal/v2/orders/${integer(1000, 9999, random)}` }
    ],
    random
  )
export const invalidOutput = (field: string): DemoFailure => ({
  type: 'ValidationError',
  message: `the output does not match the schema: ${field}: expected a number, got a string`
})
export const blockedPage = (address: string): DemoFailure => ({
  type: 'HTTPError',
  message: `403 Forbidden: ${address} does not allow robots`
})

/** Fields of a span that failed at `timestamp`. */
export function failureFields({ type, message }: DemoFailure, timestamp: string): Pick<SpanInput, 'status' | 'events'> {
  const attributes = { 'exception.type': type, 'exception.message': message }
  return { status: 'error', events: [{ name: 'exception', timestamp, attributes }] }
}
