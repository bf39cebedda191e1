/**
 * Renders spans as an OTLP JSON export with OpenInference attribute names, from which the service restores the same
 * spans. Spans join another service's or OpenTelemetry's trace in this form, because only OTLP traces accept spans from
 * several senders. This module is loaded with the sender; until then, `joined` parts contain spans in API form.
 */

/** A span, or a trace as a span, in API form. */
// biome-ignore lint/suspicious/noExplicitAny: the client wrote this value.
type Document = any

const STATUSES = ['unset', 'ok', 'error']
/** Latest time that the service accepts over OTLP, in the year 2255. */
const LATEST_MS = 9_007_199_254_739

/** Exports a `joined` part's spans and, if present, its root. Spans without a parent become children of the root. */
export function exportBody(traceId: string, joined: string): string {
  const { rootId, spans: given = [], root } = JSON.parse(joined)
  const spans = given.map((span: Document) => spanOf(traceId, { parentSpanId: rootId, ...span }))
  if (root !== undefined) spans.push(spanOf(traceId, root))
  return JSON.stringify({ resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: 'spoor' }, spans }] }] })
}

function spanOf(traceId: string, span: Document): object {
  const { id: spanId, parentSpanId, name, kind, status, startedAt, endedAt, usage = {}, events = [] } = span
  const input = JSON.stringify(span.input)
  const output = JSON.stringify(span.output)
  const attributes = {
    'openinference.span.kind': kind.toUpperCase(),
    'input.value': input,
    'input.mime_type': input && 'application/json',
    'output.value': output,
    'output.mime_type': output && 'application/json',
    [`${kind === 'embedding' ? 'embedding' : 'llm'}.model_name`]: span.model,
    'llm.provider': span.provider,
    'llm.token_count.prompt': usage.inputTokens,
    'llm.token_count.completion': usage.outputTokens,
    'llm.token_count.total': usage.totalTokens,
    'llm.cost.total': span.costUsd,
    'session.id': span.sessionId,
    'user.id': span.userId,
    'tag.tags': span.tags,
    metadata: span.metadata
  }
  return {
    ...{ traceId, spanId, parentSpanId, name, kind: 1, status: { code: STATUSES.indexOf(status) } },
    ...{ startTimeUnixNano: nanoseconds(startedAt), endTimeUnixNano: nanoseconds(endedAt) },
    attributes: [...attributeList(attributes), ...attributeList(span.attributes)],
    events: events.map(({ name, timestamp, attributes }: Document) => ({
      ...{ name, timeUnixNano: nanoseconds(timestamp), attributes: attributeList(attributes) }
    }))
  }
}

/** Strings, numbers and booleans keep their type. Other values become JSON strings. */
function attributeList(attributes: object = {}): object[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return []
    const type = typeof value
    if (type === 'boolean') return { key, value: { boolValue: value } }
    if (type === 'number') return { key, value: { doubleValue: value } }
    return { key, value: { stringValue: type === 'string' ? value : JSON.stringify(value) } }
  })
}

/** Converts a time with microseconds to epoch nanoseconds. In OTLP, 0 means no time, so the minimum is 1 ms. */
function nanoseconds(time: string): string {
  return `${Math.min(LATEST_MS, Math.max(1, Date.parse(time)))}${time.slice(-4, -1)}000`
}
