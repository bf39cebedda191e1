/** Spans of elsewhere that a trace may be part of: another service's, by the header `traceparent`, or OpenTelemetry's. */

export interface Parent {
  readonly traceId: string
  readonly spanId: string
}

/** @opentelemetry/api keeps its state under this global symbol, which all its copies share. No import is needed. */
const API = Symbol.for('opentelemetry.js.api.1')
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')
/**
 * Ids that are not all zeros, and flags that are odd: a span that nobody will send is no parent, since what would be part
 * of it would have no beginning.
 */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0+-)([0-9a-f]{32})-(?!0+-)([0-9a-f]{16})-[0-9a-f][13579bdf]/

interface Api {
  readonly context?: { active(): { getValue(key: symbol): unknown } }
}

/** OpenTelemetry's current span, if it has one that is sent. */
export function currentOtelSpan(): Parent | undefined {
  const api = (globalThis as Record<symbol, unknown>)[API] as Api | undefined
  const span = api?.context?.active?.().getValue(SPAN) as { spanContext?(): SpanContext } | undefined
  const { traceId, spanId, traceFlags = 0 } = span?.spanContext?.() ?? {}
  return parentOf(`00-${traceId}-${spanId}-0${traceFlags & 1}`)
}

/** The caller's span that a request's headers name; undefined where they name none. */
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
