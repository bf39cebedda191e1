/** External parent spans that a trace can join, from a `traceparent` header or from OpenTelemetry. */

export interface Parent {
  readonly traceId: string
  readonly spanId: string
}

/** All copies of @opentelemetry/api share state under this global symbol, so no import is needed. */
const API = Symbol.for('opentelemetry.js.api.1')
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')
/** Matches nonzero ids with the sampled flag. An unsampled span is never sent, so traces below it would lack a root. */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0+-)([0-9a-f]{32})-(?!0+-)([0-9a-f]{16})-[0-9a-f][13579bdf]/

interface Api {
  readonly context?: { active(): { getValue(key: symbol): unknown } }
}

/** Returns OpenTelemetry's current span, if it is sampled. */
export function currentOtelSpan(): Parent | undefined {
  const api = (globalThis as Record<symbol, unknown>)[API] as Api | undefined
  const span = api?.context?.active?.().getValue(SPAN) as { spanContext?(): SpanContext } | undefined
  const { traceId, spanId, traceFlags = 0 } = span?.spanContext?.() ?? {}
  return parentOf(`00-${traceId}-${spanId}-0${traceFlags & 1}`)
}

/** Returns the caller's span from request headers; undefined if the headers name none. */
export function parentFromHeaders(headers: HeadersLike | undefined): Parent | undefined {
  const value = headers instanceof Headers ? headers.get('traceparent') : headers?.traceparent
  return parentOf(Array.isArray(value) ? value[0] : value)
}

export type HeadersLike = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

type SpanContext = Parent & { readonly traceFlags?: number }

function parentOf(traceparent: unknown): Parent | undefined {
  const [, traceId, spanId] = TRACEPARENT.exec(String(traceparent).toLowerCase()) ?? []
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId }
}
