/** OTLP exports of the benchmark's traces, as an instrumentation that speaks OpenInference sends them. */
import protobuf from 'protobufjs'
import { PROTOBUF_SCHEMA } from '../../../lib/otlp/wire/protobuf.ts'
import type { SpanInput, TraceInput } from '../../../lib/schema/input.ts'

const Request = protobuf.parse(PROTOBUF_SCHEMA).root.lookupType('Request')

/** Encodes the traces in protobuf. */
export const encodeExport = (traces: readonly TraceInput[]): Uint8Array =>
  Request.encode(Request.fromObject(exportOf(traces, id => Buffer.from(id, 'hex')))).finish()

/** Encodes the traces in OTLP's JSON, whose ids are hexadecimal. */
export const encodeJsonExport = (traces: readonly TraceInput[]): string => JSON.stringify(exportOf(traces, id => id))

/** Decodes an export in protobuf. */
export const decodeExport = (bytes: Uint8Array): object =>
  Request.toObject(Request.decode(bytes), { bytes: Buffer, longs: String })

type WriteId = (hex: string) => string | Buffer

function exportOf(traces: readonly TraceInput[], idOf: WriteId): object {
  const spans = traces.flatMap(trace => (trace.spans ?? []).map(span => spanOf(trace, span, idOf)))
  const resource = { attributes: attributesOf({ 'service.name': 'bench', 'telemetry.sdk.language': 'nodejs' }) }
  const scopeSpans = [{ scope: { name: 'bench', version: '1.0.0' }, spans }]
  return { resourceSpans: [{ resource, scopeSpans }] }
}

function spanOf(trace: TraceInput, span: SpanInput, idOf: WriteId): object {
  const isRoot = !span.parentSpanId
  const usage = span.usage ?? {}
  return {
    traceId: idOf(trace.id),
    spanId: idOf(span.id),
    parentSpanId: idOf(span.parentSpanId ?? ''),
    name: isRoot ? trace.name : span.name,
    kind: 1,
    startTimeUnixNano: nanosOf(span.startedAt),
    endTimeUnixNano: nanosOf(span.endedAt),
    attributes: attributesOf({
      'openinference.span.kind': span.kind?.toUpperCase(),
      'session.id': trace.sessionId,
      'user.id': trace.userId,
      'tag.tags': JSON.stringify(trace.tags ?? []),
      metadata: isRoot ? JSON.stringify(trace.metadata) : undefined,
      'llm.model_name': span.model,
      'llm.provider': span.provider,
      'llm.token_count.prompt': usage.inputTokens,
      'llm.token_count.completion': usage.outputTokens,
      'llm.cost.total': span.costUsd,
      ...jsonAttributes('input', span.input),
      ...jsonAttributes('output', span.output),
      ...span.attributes
    }),
    events: (span.events ?? []).map(({ name, timestamp, attributes = {} }) => ({
      name,
      timeUnixNano: nanosOf(timestamp),
      attributes: attributesOf(attributes)
    })),
    status: { code: 1 }
  }
}

const jsonAttributes = (side: string, value: unknown) =>
  value === undefined ? {} : { [`${side}.value`]: JSON.stringify(value), [`${side}.mime_type`]: 'application/json' }

const nanosOf = (time: string): string => `${Date.parse(time)}000000`

function attributesOf(object: object): object[] {
  return Object.entries(object).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }]
  )
}

function anyValue(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  return { kvlistValue: { values: attributesOf(value as object) } }
}
