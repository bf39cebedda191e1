/** One export request: its spans, by the traces they belong to, and those of them that no trace can take. */
import type { SpanRefusal } from '../trace/decide-export.ts'
import { decodeJson } from './json.ts'
import { describeOrigin, type MappedSpan, mapSpan } from './map-span.ts'
import { decodeProtobuf } from './protobuf.ts'
import type { OtlpSpan } from './request.ts'
import { LAST_MICROS } from './time.ts'

export type Encoding = 'protobuf' | 'json'

export interface Export {
  /** In the order in which the request names them; the spans of each in the order of the request. */
  readonly traces: ReadonlyMap<string, readonly MappedSpan[]>
  readonly refusals: readonly SpanRefusal[]
}

/** Decodes and maps a request. Throws a Refusal only where it cannot be decoded. */
export function readExport(bytes: Uint8Array, encoding: Encoding): Export {
  const groups = encoding === 'json' ? decodeJson(bytes) : decodeProtobuf(bytes)
  const traces = new Map<string, MappedSpan[]>()
  const refusals: SpanRefusal[] = []
  for (const { origin, spans } of groups) {
    const from = describeOrigin(origin)
    for (const span of spans) {
      const reason = faultOf(span)
      if (reason !== undefined) {
        refusals.push({ reason, count: 1, example: describe(span) })
        continue
      }
      const mapped = mapSpan(span, from)
      const others = traces.get(span.traceId)
      if (others === undefined) traces.set(span.traceId, [mapped])
      else others.push(mapped)
    }
  }
  return { traces, refusals }
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/

/** Why a span belongs to no trace, or to no time. */
function faultOf(span: OtlpSpan): string | undefined {
  if (!TRACE_ID.test(span.traceId) || !SPAN_ID.test(span.spanId)) {
    return 'without a valid trace id and span id (are these log records?)'
  }
  if (span.parentSpanId !== '' && !/^[0-9a-f]{16}$/.test(span.parentSpanId)) return 'whose parent span id is not valid'
  if (span.startMicros === 0) return 'without a start time'
  if (span.startMicros > LAST_MICROS || span.endMicros > LAST_MICROS) return 'whose times are not of this age'
  return span.events.some(({ micros }) => micros > LAST_MICROS) ? 'with an event that is not of this age' : undefined
}

const describe = ({ name, traceId, spanId }: OtlpSpan): string =>
  traceId === '' && spanId === '' ? JSON.stringify(name.slice(0, 100)) : `span ${spanId} of trace ${traceId}`
