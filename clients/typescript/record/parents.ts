/** W3C Trace Context: random ids, and external parents from a `traceparent` header or from OpenTelemetry. */

export interface Parent {
  readonly traceId: string
  readonly spanId: string
}

/** All copies of @opentelemetry/api share state under this global symbol, so no import is needed. */
const API = Symbol.for('opentelemetry.js.api.1')
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')
/** Matches nonzero ids with the sampled flag. An unsampled span is never sent, so traces below it would lack a root. */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0+-)([0-9a-f]{32})-(?!0+-)([0-9a-f]{16})-[0-9a-f][13579bdf]/

/** Returns OpenTelemetry's current span, if it is sampled. */
export function currentOtelSpan(): Parent | undefined {
  // biome-ignore lint/suspicious/noExplicitAny: the state differs between versions of @opentelemetry/api.
  const api = (globalThis as any)[API]
  const { traceId, spanId, traceFlags = 0 } = api?.context?.active?.().getValue(SPAN)?.spanContext?.() ?? {}
  return parentOf(`00-${traceId}-${spanId}-0${traceFlags & 1}`)
}

/** Returns the caller's span from request headers; undefined if the headers name none. */
export function parentFromHeaders(headers: HeadersLike | undefined): Parent | undefined {
  const value = headers instanceof Headers ? headers.get('traceparent') : headers?.traceparent
  return parentOf(Array.isArray(value) ? value[0] : value)
}

export type HeadersLike = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

function parentOf(traceparent: unknown): Parent | undefined {
  const [, traceId, spanId] = TRACEPARENT.exec(String(traceparent).toLowerCase()) ?? []
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId }
}

/** Returns a parent that an application has given, if its ids are valid. */
export function validParent(parent: Parent | undefined, problem: (text: string) => void): Parent | undefined {
  if (!parent) return undefined
  const valid = parentOf(`00-${parent.traceId}-${parent.spanId}-01`)
  if (valid === undefined) problem('parent must be from spoor.fromHeaders(headers)')
  return valid
}

const POOL = new Uint8Array(4096)
let used = POOL.length
const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Returns a random id of `bytes` bytes in hexadecimal, never all zeros. */
function hex(bytes: number): string {
  if (used + bytes > POOL.length) {
    crypto.getRandomValues(POOL)
    used = 0
  }
  let text = ''
  for (const end = used + bytes; used < end; used++) text += DIGITS[POOL[used]!]
  return /[^0]/.test(text) ? text : hex(bytes)
}

export const newTraceId = (): string => hex(16)
export const newSpanId = (): string => hex(8)
