/**
 * One span of OTLP as spoor's own: the span as a client would send it, and what it says of its trace. What no field has a
 * place for is kept in `attributes`, what OTLP itself says of a span under the names that OpenTelemetry gives to it where it
 * is written down elsewhere than in OTLP (`otel.scope.name` and the like).
 */
import { SPAN_KINDS as KINDS, MAX_EVENTS, MAX_NAME, MAX_TEXT, type SpanInput } from '../schema/input.ts'
import type { Json } from '../trace/json.ts'
import { setOwn } from '../trace/metadata.ts'
import type { Composer, Source, SpanKind } from './dialect.ts'
import { dialects, namesOf } from './dialects.ts'
import { Fields, readForm } from './fields.ts'
import { readKind } from './kind.ts'
import type { Origin, OtlpEvent, OtlpLink, OtlpSpan } from './request.ts'
import { cut, shortText, storable } from './text.ts'
import { timestampOf } from './time.ts'
import { readTraceHints, type TraceHints } from './trace-hints.ts'
import { readCost, readUsage } from './usage.ts'

export interface MappedSpan {
  readonly span: SpanInput
  readonly trace: TraceHints
}

const MODELS = namesOf(dialect => dialect.model)
const PROVIDERS = namesOf(dialect => dialect.provider)
const INPUTS = dialects.flatMap(dialect => dialect.input ?? [])
const OUTPUTS = dialects.flatMap(dialect => dialect.output ?? [])
/** Some senders write a root's parent so. */
const NO_PARENT = '0'.repeat(16)
/** What spans of a kind are called by. */
const NAMES = Object.fromEntries(KINDS.map(kind => [kind, namesOf(({ names }) => names?.[kind])]))
const SPAN_KINDS = ['', 'internal', 'server', 'client', 'producer', 'consumer']
const STATUSES = ['unset', 'ok', 'error'] as const

/** Maps a span whose ids and times are in order. */
export function mapSpan(span: OtlpSpan, origin: Origin): MappedSpan {
  const fields = new Fields(span.attributes)
  const extra: Record<string, Json> = {}
  const kind = readKind(fields)
  const name = readName(span, fields, kind, extra)
  const model = takeText(fields, MODELS)
  const provider = takeText(fields, PROVIDERS)
  const usage = readUsage(fields)
  const costUsd = readCost(fields)
  const input = readSource(INPUTS, fields, span.events)
  const output = readSource(OUTPUTS, fields, span.events)
  const startedAt = timestampOf(span.startMicros)
  describeSpan(span, extra)
  describeOrigin(origin, extra)
  if (span.endMicros < span.startMicros) extra['otel.end_time'] = timestampOf(span.endMicros)
  if (span.events.length > MAX_EVENTS) extra['otel.events'] = span.events.slice(MAX_EVENTS).map(mapEvent)
  return {
    span: {
      id: span.spanId,
      parentSpanId: span.parentSpanId === '' || span.parentSpanId === NO_PARENT ? null : span.parentSpanId,
      name,
      kind,
      status: isLangfuseError(fields) ? 'error' : (STATUSES[span.statusCode] ?? 'unset'),
      startedAt,
      // A clock that was set back while the span ran, or a span that was never ended.
      endedAt: span.endMicros < span.startMicros ? startedAt : timestampOf(span.endMicros),
      ...(provider !== undefined && { provider }),
      ...(model !== undefined && { model }),
      ...(input !== undefined && { input }),
      ...(output !== undefined && { output }),
      ...(usage !== undefined && { usage }),
      ...(costUsd !== undefined && { costUsd }),
      events: span.events.slice(0, MAX_EVENTS).map(mapEvent),
      attributes: objectOf(fields.rest(), extra)
    },
    trace: readTraceHints(fields, name, origin)
  }
}

/**
 * Agents and tools are called by their own names; the span's, which says what was done with them, is kept. An empty name
 * is none.
 */
function readName(span: OtlpSpan, fields: Fields, kind: SpanKind, extra: Record<string, Json>): string {
  const better = takeText(fields, NAMES[kind] ?? [], MAX_NAME)
  const name = better ?? cut(storable(span.name), MAX_NAME)
  if (name !== span.name && span.name !== '') extra['otel.name'] = span.name
  return name === '' ? 'unnamed' : name
}

function takeText(fields: Fields, names: readonly string[], length = MAX_TEXT): string | undefined {
  for (const name of names) {
    const text = shortText(fields.get(name), length)
    if (text === undefined) continue
    fields.take(name)
    return text
  }
  return undefined
}

function readSource(sources: readonly Source[], fields: Fields, events: readonly OtlpEvent[]): Json {
  for (const source of sources) {
    const value = typeof source === 'function' ? source(fields, events) : takeForm(fields, source)
    if (value !== undefined) return value
  }
  return undefined
}

function takeForm(fields: Fields, { attribute, form }: Exclude<Source, Composer>): Json {
  const found = fields.find([attribute])
  if (found === undefined) return undefined
  fields.take(attribute)
  return readForm(found.value, form)
}

const isLangfuseError = (fields: Fields): boolean => fields.get('langfuse.observation.level') === 'ERROR'

/** What OTLP says of a span beside its attributes. */
function describeSpan(span: OtlpSpan, extra: Record<string, Json>): void {
  if (span.kind !== 0) extra['otel.span_kind'] = SPAN_KINDS[span.kind] ?? span.kind
  if (span.statusMessage !== '') extra['otel.status_description'] = span.statusMessage
  if (span.traceState !== '') extra['otel.trace_state'] = span.traceState
  if (span.flags !== 0) extra['otel.flags'] = span.flags
  if (span.links.length > 0) extra['otel.links'] = span.links.map(mapLink)
  if (span.droppedAttributes !== 0) extra['otel.dropped_attributes_count'] = span.droppedAttributes
  if (span.droppedEvents !== 0) extra['otel.dropped_events_count'] = span.droppedEvents
  if (span.droppedLinks !== 0) extra['otel.dropped_links_count'] = span.droppedLinks
}

function describeOrigin(origin: Origin, extra: Record<string, Json>): void {
  const { resource, scopeAttributes, scopeName, scopeVersion, scopeSchemaUrl, resourceSchemaUrl } = origin
  const schemaUrl = scopeSchemaUrl || resourceSchemaUrl
  if (scopeName !== '') extra['otel.scope.name'] = scopeName
  if (scopeVersion !== '') extra['otel.scope.version'] = scopeVersion
  if (scopeAttributes.size > 0) extra['otel.scope.attributes'] = objectOf(scopeAttributes)
  if (schemaUrl !== '') extra['otel.schema_url'] = schemaUrl
  if (resource.size > 0) extra['otel.resource'] = objectOf(resource)
}

function mapEvent(event: OtlpEvent) {
  const name = cut(storable(event.name), MAX_NAME)
  const extra: Record<string, Json> = {}
  if (name !== event.name) extra['otel.name'] = event.name
  if (event.droppedAttributes !== 0) extra['otel.dropped_attributes_count'] = event.droppedAttributes
  return {
    name: name === '' ? 'unnamed' : name,
    timestamp: timestampOf(event.micros),
    attributes: objectOf(event.attributes, extra)
  }
}

const mapLink = ({ traceId, spanId, traceState, attributes, droppedAttributes, flags }: OtlpLink): Json => ({
  traceId,
  spanId,
  ...(traceState !== '' && { traceState }),
  ...(attributes.size > 0 && { attributes: objectOf(attributes) }),
  ...(droppedAttributes !== 0 && { droppedAttributes }),
  ...(flags !== 0 && { flags })
})

/** What was sent comes first, and is never changed by what is added. */
function objectOf(
  attributes: Iterable<[string, Json]>,
  extra: Readonly<Record<string, Json>> = {}
): Record<string, Json> {
  const object: Record<string, Json> = {}
  for (const [key, value] of attributes) setOwn(object, key, value)
  for (const [key, value] of Object.entries(extra)) if (!Object.hasOwn(object, key)) object[key] = value
  return object
}
