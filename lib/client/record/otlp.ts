/**
 * Spans as an OTLP export in JSON, with OpenInference's names of attributes, which the service reads back as they were.
 * This is how spans join a trace that another service or OpenTelemetry records: only such traces grow by the spans of
 * several senders.
 */
import { MAX_NAME } from '../api-types.ts'
import type { EventRecord, Member, SpanRecord, TraceEnd, TraceHead } from './render.ts'

const STATUS_CODES = { unset: 0, ok: 1, error: 2 } as const

/** An export of spans whose parent, where they have none, is the span with the id `rootId`. */
export function otlpBody(traceId: string, rootId: string, spans: readonly SpanRecord[], root?: object): string {
  const list: object[] = spans.map(span => spanOf(traceId, { ...span, parentSpanId: span.parentSpanId ?? rootId }))
  if (root !== undefined) list.push(root)
  return JSON.stringify({
    resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: 'spoor' }, spans: list }] }]
  })
}

/** The trace itself as a span. */
export function rootSpan(rootId: string, parentSpanId: string | undefined, head: TraceHead, end: TraceEnd): object {
  const metadata = end.metadata.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')
  const { id: traceId, name, startedAt, input, sessionId, userId } = head
  const record = { id: rootId, parentSpanId, name, kind: 'chain' as const, startedAt, input, ...end }
  const span = spanOf(traceId, { ...record, attributes: [], events: [], bytes: 0 })
  span.attributes.push(
    ...attribute('session.id', sessionId),
    ...attribute('user.id', userId),
    ...(end.tags.length === 0 ? [] : [{ key: 'tag.tags', value: { arrayValue: { values: end.tags.map(textValue) } } }]),
    ...attribute('metadata', metadata === '' ? undefined : `{${metadata}}`)
  )
  return span
}

function spanOf(traceId: string, span: SpanRecord) {
  const { usage = {} } = span
  return {
    traceId,
    spanId: span.id,
    ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
    name: span.name.slice(0, MAX_NAME),
    kind: 1,
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt),
    status: { code: STATUS_CODES[span.status] },
    attributes: [
      ...attribute('openinference.span.kind', span.kind.toUpperCase()),
      ...payload('input', span.input),
      ...payload('output', span.output),
      ...attribute(span.kind === 'embedding' ? 'embedding.model_name' : 'llm.model_name', span.model),
      ...attribute('llm.provider', span.provider),
      ...count('llm.token_count.prompt', usage.inputTokens),
      ...count('llm.token_count.completion', usage.outputTokens),
      ...count('llm.token_count.total', usage.totalTokens),
      ...(span.costUsd === undefined ? [] : [{ key: 'llm.cost.total', value: { doubleValue: span.costUsd } }]),
      ...span.attributes.map(memberAttribute)
    ] as object[],
    events: span.events.map(eventOf)
  }
}

const eventOf = ({ name, at, attributes }: EventRecord) => ({
  name,
  timeUnixNano: nanoseconds(at),
  attributes: attributes.map(memberAttribute)
})

/** From 1970 to 2255, which is what the service takes this way; 0 would be no time. */
function nanoseconds(ms: number): string {
  const micros = Math.min(Number.MAX_SAFE_INTEGER, Math.max(1, Math.floor(ms * 1000)))
  return String(BigInt(micros) * 1000n)
}

const textValue = (text: string) => ({ stringValue: text })

const attribute = (key: string, text: string | undefined) =>
  text === undefined ? [] : [{ key, value: textValue(text) }]

const count = (key: string, value: number | undefined) =>
  value === undefined ? [] : [{ key, value: { intValue: String(value) } }]

/** A text stands for itself; of another value, its JSON. */
function memberAttribute([key, json]: Member): object {
  if (json === 'true' || json === 'false') return { key, value: { boolValue: json === 'true' } }
  if (/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(json)) return { key, value: { doubleValue: Number(json) } }
  return { key, value: textValue(json.startsWith('"') ? JSON.parse(json) : json) }
}

const payload = (side: string, json: string | undefined) =>
  json === undefined ? [] : [...attribute(`${side}.value`, json), ...attribute(`${side}.mime_type`, 'application/json')]
