/**
 * The span of OpenTelemetry that is current, if the application has @opentelemetry/api loaded. That package keeps its
 * state under these symbols, so that several copies of it share it; no import is needed.
 */
import type { Parent } from './trace.ts'

const API = Symbol.for('opentelemetry.js.api.1')
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/i
/** Of the flags: whether the span is sent at all. */
const SAMPLED = 1
const ZEROS = /^0+$/

interface Api {
  readonly context?: { active(): { getValue(key: symbol): unknown } }
}

export function currentOtelSpan(): Parent | undefined {
  const api = (globalThis as Record<symbol, unknown>)[API] as Api | undefined
  const span = api?.context?.active?.().getValue(SPAN) as { spanContext?(): SpanContext } | undefined
  const { traceId, spanId, traceFlags } = span?.spanContext?.() ?? {}
  return parentOf(traceId, spanId, traceFlags)
}

/** The caller's span that a request's headers name; undefined where they name none. */
export function parentFromHeaders(headers: HeadersLike | undefined): Parent | undefined {
  const value = headers instanceof Headers ? headers.get('traceparent') : headers?.traceparent
  const [, traceId, spanId, flags = ''] = TRACEPARENT.exec(String(Array.isArray(value) ? value[0] : value)) ?? []
  return parentOf(traceId, spanId, Number.parseInt(flags, 16))
}

export type HeadersLike = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

type SpanContext = Parent & { readonly traceFlags?: number }

/** Undefined for a span that nobody will send: what would be part of it would have no beginning. */
function parentOf(traceId: string | undefined, spanId: string | undefined, flags = 0): Parent | undefined {
  if (traceId === undefined || spanId === undefined || (flags & SAMPLED) === 0) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  return { traceId: traceId.toLowerCase(), spanId: spanId.toLowerCase() }
}
