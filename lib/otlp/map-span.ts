/**
 * Maps an OTLP span to a spoor span in the form that clients send, and to hints about the span's trace. Data without a
 * field of its own is kept in `attributes`. OTLP fields kept there use the names that OpenTelemetry defines for
 * non-OTLP formats, such as `otel.scope.name`.
 */
import { MAX_EVENTS, MAX_NAME, MAX_TEXT, SPAN_KINDS, type SpanInput } from '../schema/input.ts'
import type { CallDetails } from '../trace/call-details.ts'
import type { Json } from '../trace/json/exact-json.ts'
import type { FreeJson } from '../trace/json/free-json.ts'
import type { Reading } from '../trace/json/reader.ts'
import { PROCESS_ROOT, type SpanHints } from '../trace/states/gathered.ts'
import type { Needed } from '../trace/states/kept-spans.ts'
import { timestampOf } from '../trace/timestamp.ts'
import { fitSpan } from './content/fit-span.ts'
import { keptOnce } from './content/kept-once.ts'
import type { AttributeSource } from './dialect.ts'
import { dialects, namesOf, unquoted } from './dialects.ts'
import { Fields, groupOf } from './fields.ts'
import { readKind } from './kind.ts'
import type { DialectKind } from './kind-names.ts'
import { readSpanStatus } from './status.ts'
import { cutAttribute, replaceNul, textOfAttribute } from './text.ts'
import { type ResourceClaims, readHints, readLevel, readSender } from './trace-hints.ts'
import { readCost, readTokens } from './usage.ts'
import { freeObject, freeOf, type Member } from './wire/attribute-values.ts'
import type { Attributes, Origin, OtlpEvent, OtlpLink, OtlpSpan } from './wire/request.ts'

export interface MappedSpan {
  readonly span: Reading<SpanInput>
  readonly hints: SpanHints
  readonly callDetails: CallDetails
}

/** A span's origin, in the form that is stored with every span of that origin. */
export interface DescribedOrigin {
  readonly members: readonly Member[]
  readonly resource: FreeJson | undefined
  readonly sender: ResourceClaims
}

const MODELS = namesOf(dialect => dialect.model)
/** Kinds of spans whose `model` is the model that the span called. */
const CALL_KINDS: ReadonlySet<string> = new Set(['llm', 'embedding', 'agent'])
const CALL_MODELS = namesOf(dialect => dialect.callModel)
const ANY_MODEL = groupOf([...MODELS, ...CALL_MODELS])
const PROVIDERS = namesOf(dialect => dialect.provider)
const INPUTS = dialects.flatMap(dialect => dialect.input ?? [])
const OUTPUTS = dialects.flatMap(dialect => dialect.output ?? [])
/** Attributes that name a span, by span kind. */
const NAMES = Object.fromEntries(SPAN_KINDS.map(kind => [kind, namesOf(({ names }) => names?.[kind])]))
const RAW = new Set(namesOf(({ raw }) => raw))
const OTEL_KINDS = ['', 'internal', 'server', 'client', 'producer', 'consumer']
/** All-zero parent id, which some senders set on root spans. */
const NO_PARENT = '0'.repeat(16)

/** Maps a span. The caller must have validated its ids and times. */
export function mapSpan(span: OtlpSpan, origin: DescribedOrigin): MappedSpan {
  const { startMicros, endMicros, events } = span
  const fields = new Fields(span.attributes, span.name, origin.sender)
  const kind = readKind(fields, span.kind)
  const better = takeText(fields, NAMES[kind] ?? [], MAX_NAME)
  const name = better ?? columnText(span.name)
  const startedAt = timestampOf(startMicros)
  const parentSpanId = readParent(span)
  const tokens = readTokens(fields)
  const mapped = {
    id: span.spanId,
    parentSpanId,
    name,
    kind,
    status: readSpanStatus(span, fields),
    startedAt,
    // The end can precede the start if the clock was set back or the span never ended.
    endedAt: endMicros < startMicros ? startedAt : timestampOf(endMicros),
    provider: takeText(fields, PROVIDERS, MAX_TEXT),
    model: fields.mentions(ANY_MODEL) ? takeModel(fields, kind) : undefined,
    usage: tokens.usage,
    costUsd: readCost(fields),
    input: readFirst(INPUTS, fields, events, kind),
    output: readFirst(OUTPUTS, fields, events, kind),
    events: events.slice(0, MAX_EVENTS).map(mapEvent),
    attributes: undefined as FreeJson | undefined
  }
  // The remaining attributes come last, because reading the other fields determines which attributes are taken.
  mapped.attributes = describeAttributes(span, mapped, fields, origin)
  const hints = readHints(span, fields, name, kind, parentSpanId, origin)
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens } = tokens.parts
  const { responseId, toolCallId } = hints
  const callDetails: CallDetails = { responseId, cacheReadTokens, cacheWriteTokens, reasoningTokens, toolCallId }
  return { span: fitSpan(mapped as Reading<SpanInput>), hints, callDetails }
}

type Taken = { readonly name: string; readonly input: FreeJson | undefined; readonly output: FreeJson | undefined }

function describeAttributes(
  span: OtlpSpan,
  { name, input, output }: Taken,
  fields: Fields,
  origin: DescribedOrigin
): FreeJson {
  const members: Member[] = []
  for (const [attribute, value] of span.attributes) {
    if (fields.isTaken(attribute)) continue
    members.push([attribute, freeOf(RAW.has(attribute) ? keptOnce(value, [input, output]) : value)])
  }
  addUnlessSent(members, span.attributes, describeSpan(span, name))
  addUnlessSent(members, span.attributes, origin.members)
  return freeObject(members)
}

/** Returns the name in a form that a text column can store. An empty name becomes `unnamed`. */
function columnText(text: string): string {
  return text === '' ? 'unnamed' : cutAttribute(replaceNul(text), MAX_NAME)
}

function takeText(fields: Fields, names: readonly string[], length: number): string | undefined {
  for (const name of names) {
    const value = unquoted(fields, name)
    const text = textOfAttribute(value, length)
    if (text === undefined) continue
    // If the text was changed to be storable, the original also stays an attribute.
    if (typeof value !== 'string' || text === value) fields.take(name)
    return text
  }
  return undefined
}

const takeModel = (fields: Fields, kind: DialectKind): string | undefined =>
  takeText(fields, MODELS, MAX_TEXT) ?? (CALL_KINDS.has(kind) ? takeText(fields, CALL_MODELS, MAX_TEXT) : undefined)

function readFirst(
  sources: readonly AttributeSource[],
  ...given: Parameters<AttributeSource>
): ReturnType<AttributeSource> {
  for (const source of sources) {
    const value = source(...given)
    if (value !== undefined) return value
  }
  return undefined
}

const readParent = ({ parentSpanId }: OtlpSpan): string | null =>
  parentSpanId === '' || parentSpanId === NO_PARENT ? null : parentSpanId

/** Returns the facts that determine a span's priority for a slot in its trace, without mapping the span. */
export function readNeed(span: OtlpSpan, { sender }: DescribedOrigin): Needed {
  const fields = new Fields(span.attributes, span.name, sender)
  const parentId = readParent(span)
  const level = readLevel(span, fields, parentId)
  return {
    isRoot: parentId === null,
    failed: readSpanStatus(span, fields) === 'error' || level === PROCESS_ROOT,
    kind: readKind(fields, span.kind)
  }
}

/** Describes the OTLP fields other than attributes. Includes the span's own name if another name was used instead. */
function describeSpan(span: OtlpSpan, name: string): Member[] {
  const { events, links, startMicros, endMicros } = span
  const more: [string, Json][] = []
  if (name !== span.name && span.name !== '') more.push(['otel.name', span.name])
  if (span.kind !== 0) more.push(['otel.span_kind', OTEL_KINDS[span.kind] ?? span.kind])
  if (span.statusMessage !== '') more.push(['otel.status_description', span.statusMessage])
  if (span.traceState !== '') more.push(['otel.trace_state', span.traceState])
  if (span.flags !== 0) more.push(['otel.flags', span.flags])
  if (links.length > 0) more.push(['otel.links', links.map(mapLink)])
  if (span.droppedAttributes !== 0) more.push(['otel.dropped_attributes_count', span.droppedAttributes])
  if (span.droppedEvents !== 0) more.push(['otel.dropped_events_count', span.droppedEvents])
  if (span.droppedLinks !== 0) more.push(['otel.dropped_links_count', span.droppedLinks])
  if (endMicros < startMicros) more.push(['otel.end_time', timestampOf(endMicros)])
  const members = readMembers(more)
  if (events.length > MAX_EVENTS) members.push(['otel.events', listOf(events.slice(MAX_EVENTS).map(describeEvent))])
  return members
}

export function describeOrigin(origin: Origin, tagNames?: readonly string[]): DescribedOrigin {
  const { resource, scopeAttributes, scopeName, scopeVersion, scopeSchemaUrl, resourceSchemaUrl } = origin
  const schemaUrl = scopeSchemaUrl || resourceSchemaUrl
  const members: Member[] = []
  if (scopeName !== '') members.push(['otel.scope.name', freeOf(scopeName)])
  if (scopeVersion !== '') members.push(['otel.scope.version', freeOf(scopeVersion)])
  if (scopeAttributes.size > 0) members.push(['otel.scope.attributes', freeObject(readMembers(scopeAttributes))])
  if (schemaUrl !== '') members.push(['otel.schema_url', freeOf(schemaUrl)])
  const described = resource.size === 0 ? undefined : describeResource(resource)
  if (described !== undefined) members.push(['otel.resource', described])
  return { members, resource: described, sender: readSender(origin, tagNames) }
}

/** Describes a resource. All scopes of the resource share one object, so a portion holds the resource only once. */
function describeResource(resource: Attributes): FreeJson {
  const before = describedResources.get(resource)
  if (before !== undefined) return before
  const described = freeObject(readMembers(resource))
  describedResources.set(resource, described)
  return described
}
const describedResources = new WeakMap<Attributes, FreeJson>()

/** Number of characters that an origin adds to each of its spans. */
export const lengthOfOrigin = ({ members }: DescribedOrigin): number =>
  members.reduce((sum, [name, { stored }]) => sum + name.length + (stored?.length ?? 0), 0)

function mapEvent(event: OtlpEvent) {
  const name = columnText(event.name)
  const members = readMembers(event.attributes)
  const own: Member[] = []
  if (name !== event.name && event.name !== '') own.push(['otel.name', freeOf(event.name)])
  if (event.droppedAttributes !== 0) own.push(['otel.dropped_attributes_count', freeOf(event.droppedAttributes)])
  addUnlessSent(members, event.attributes, own)
  return { name, timestamp: timestampOf(event.micros), attributes: freeObject(members) }
}

/** Describes an event beyond the span's maximum number of events. */
function describeEvent(event: OtlpEvent): FreeJson {
  const { name, timestamp, attributes } = mapEvent(event)
  return freeObject([
    ['name', freeOf(name)],
    ['timestamp', freeOf(timestamp)],
    ['attributes', attributes]
  ])
}

const listOf = (items: readonly FreeJson[]): FreeJson => ({
  stored: `[${items.map(({ stored }) => stored ?? '{}').join(',')}]`,
  canonical: `[${items.map(({ canonical }) => canonical).join(',')}]`
})

const mapLink = ({ traceId, spanId, traceState, attributes, droppedAttributes, flags }: OtlpLink): Json => ({
  traceId,
  spanId,
  ...(traceState !== '' && { traceState }),
  ...(attributes.size > 0 && { attributes: Object.fromEntries(attributes) }),
  ...(droppedAttributes !== 0 && { droppedAttributes }),
  ...(flags !== 0 && { flags })
})

const readMembers = (attributes: Attributes | Iterable<[string, Json]>): Member[] =>
  Array.from(attributes, ([name, value]) => [name, freeOf(value)])

/** Adds members, except those whose names the sender already uses. */
function addUnlessSent(members: Member[], sent: Attributes, added: readonly Member[]): void {
  for (const member of added) if (!sent.has(member[0])) members.push(member)
}
