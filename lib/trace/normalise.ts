/**
 * Normalises a checked body: applies defaults, converts ids to lower case and timestamps to canonical form, checks
 * rules beyond the schema, and builds the documents that determine identity and size.
 */
import { Refusal } from '../errors.ts'
import type { EndBody, IngestBody, SpanInput, SpansBody } from '../schema/input.ts'
import { unstorable } from '../schema/text.ts'
import { endDocument, spanDocument, traceDocument, usageDocument } from './document.ts'
import { type ByteText, fromByteText, toByteText } from './json/byte-text.ts'
import { CanonicalBytes } from './json/canonical.ts'
import { EMPTY_LIST, EMPTY_OBJECT, type FreeJson, NULL } from './json/free-json.ts'
import type { Reading } from './json/reader.ts'
import {
  assertHashed,
  type PreparedAppend,
  type PreparedEnd,
  type PreparedTrace,
  type TraceSpan,
  type UsageFields
} from './prepared.ts'
import { isBefore, parseTimestamp } from './timestamp.ts'

export interface NormalisedFacts {
  /** Whether strings may contain U+0000 or unpaired surrogates. */
  readonly escapes: boolean
  /** Set if the free-form JSON is byte texts (json/byte-text.ts). */
  readonly byteText?: Pick<ByteText, 'isBeyondAscii'> | undefined
}

/** Spells a string of the body like its free-form JSON. */
const spell = <T extends string | null | undefined>({ byteText }: NormalisedFacts, text: T): T =>
  byteText?.isBeyondAscii === true && text != null ? (toByteText(text) as T) : text

/** Returns free-form JSON of the body as a text. */
const textOf = <T extends string | null | undefined>({ byteText }: NormalisedFacts, json: T): T =>
  byteText?.isBeyondAscii === true && json != null ? (fromByteText(json) as T) : json

export interface Checked<T> extends NormalisedFacts {
  readonly value: Reading<T>
}

type Span = Reading<SpanInput>

export const refuse = (field: string, rule: string): never => {
  throw new Refusal('invalid_trace', `${field}: ${rule}`)
}

export function checkTexts(body: NormalisedFacts, path: string, fields: Readonly<Record<string, unknown>>): void {
  if (!body.escapes) return
  for (const [field, text] of Object.entries(fields)) {
    const rule = typeof text === 'string' ? unstorable(text) : undefined
    if (rule !== undefined) refuse(path + field, rule)
  }
}

/**
 * Returns a timestamp in canonical form. Throws a Refusal if the timestamp is invalid. `path` precedes the field name
 * in messages.
 */
export const normaliseTimestamp = (text: string, path: string, field: string): string =>
  parseTimestamp(text) ?? refuse(path + field, 'must be an ISO 8601 date and time, such as 2026-11-21T12:00:00.123Z')

const usageFields = (usage: SpanInput['usage']): UsageFields => ({
  inputTokens: usage?.inputTokens ?? null,
  outputTokens: usage?.outputTokens ?? null,
  totalTokens: usage?.totalTokens ?? null
})

function normaliseEvents(body: NormalisedFacts, events: Span['events'], path: string): FreeJson {
  if (events === undefined || events.length === 0) return EMPTY_LIST
  const parts = events.map(({ name, attributes, timestamp: sent }, i) => {
    const eventPath = `${path}events[${i}].`
    checkTexts(body, eventPath, { name })
    const time = normaliseTimestamp(sent, eventPath, 'timestamp')
    const rest = `,"name":${JSON.stringify(spell(body, name))},"timestamp":"${time}"}`
    const part = (json: string) => `{"attributes":${json}${rest}`
    const canonical = part(attributes?.canonical ?? 'null')
    return { stored: attributes?.stored == null ? canonical : part(attributes.stored), canonical }
  })
  return {
    stored: `[${parts.map(part => part.stored).join(',')}]`,
    canonical: `[${parts.map(part => part.canonical).join(',')}]`
  }
}

/** Canonical bytes of the current body. One buffer suffices, because a thread prepares one body at a time. */
const canonical = new CanonicalBytes()

/** Prepares one span and appends its document to `canonical`. Hashes the document if `isHashed` is set. */
function normaliseSpan(body: NormalisedFacts, span: Span, path: string, isHashed: boolean): TraceSpan {
  checkTexts(body, path, { name: span.name, provider: span.provider, model: span.model })
  const startedAt = normaliseTimestamp(span.startedAt, path, 'startedAt')
  const endedAt = normaliseTimestamp(span.endedAt, path, 'endedAt')
  if (isBefore(endedAt, startedAt)) refuse(`${path}endedAt`, 'must not be before startedAt')
  const usage = usageFields(span.usage)
  const usageText = usageDocument(usage)
  const { input = NULL, output = NULL, attributes = EMPTY_OBJECT } = span
  const events = normaliseEvents(body, span.events, path)
  const id = span.id.toLowerCase()
  const parentId = span.parentSpanId?.toLowerCase() ?? null
  const { name, kind = 'custom', status = 'unset', provider = null, model = null, costUsd = null } = span
  const from = canonical.length
  const sizeFrom = canonical.size
  const document = spanDocument({
    attributes: attributes.canonical,
    costUsd,
    endedAt,
    events: events.canonical,
    id,
    input: input.canonical,
    kind,
    model: spell(body, model),
    name: spell(body, name),
    output: output.canonical,
    parentId,
    provider: spell(body, provider),
    startedAt,
    status,
    usage: usageText === '{}' ? undefined : usageText
  })
  canonical.write(document)
  canonical.resize(attributes, events, input, output)
  return {
    id,
    parentId,
    name,
    kind,
    status,
    startedAt,
    endedAt,
    provider,
    model,
    input: input.stored,
    output: output.stored,
    attributes: attributes.stored,
    events: events.stored,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    totalTokens: usage.totalTokens,
    costUsd,
    hash: isHashed ? canonical.hash(from) : null,
    bytes: canonical.size - sizeFrom
  }
}

function normaliseSpanList(
  body: NormalisedFacts,
  spans: readonly Span[] | undefined,
  path: string,
  isHashed: boolean
): TraceSpan[] {
  return (spans ?? []).map((span, i) => {
    if (i > 0) canonical.write(',')
    return normaliseSpan(body, span, `${path}[${i}].`, isHashed)
  })
}

/** Prepares the spans of an append or an end, which are compared with stored spans. */
function normaliseAdded(body: NormalisedFacts, spans: readonly Span[] | undefined) {
  const added = normaliseSpanList(body, spans, 'spans', true)
  assertHashed(added)
  return added
}

/** Removes duplicate tags and keeps the first occurrence of each. */
function normaliseTags(body: NormalisedFacts, tags: readonly string[] | undefined, path: string): string[] {
  if (tags === undefined || tags.length === 0) return []
  if (body.escapes) checkTexts(body, path, Object.fromEntries(tags.map((tag, i) => [`[${i}]`, tag])))
  return [...new Set(tags)]
}

/**
 * Prepares a trace. The spans of a complete trace are hashed only if `isRestored` is set, because only an import
 * compares them with stored spans.
 */
export function normaliseTrace(body: Checked<IngestBody>, isRestored = false): PreparedTrace {
  const { trace } = body.value
  if (trace.status !== undefined && trace.endedAt === undefined) {
    refuse('trace.status', 'must be absent if trace.endedAt is absent: a running trace gets its status when it ends')
  }
  const { name } = trace
  checkTexts(body, 'trace.', {
    name,
    provider: trace.provider,
    model: trace.model,
    sessionId: trace.sessionId,
    userId: trace.userId
  })
  const tags = normaliseTags(body, trace.tags, 'trace.tags')
  const startedAt = normaliseTimestamp(trace.startedAt, 'trace.', 'startedAt')
  const endedAt = trace.endedAt === undefined ? null : normaliseTimestamp(trace.endedAt, 'trace.', 'endedAt')
  if (endedAt !== null && isBefore(endedAt, startedAt)) refuse('trace.endedAt', 'must not be before startedAt')
  const { input = NULL, output = NULL, metadata = EMPTY_OBJECT } = trace
  const usage = usageFields(trace.usage)
  const id = trace.id.toLowerCase()
  const status = endedAt === null ? null : (trace.status ?? 'unset')
  const { provider = null, model = null, sessionId = null, userId = null, costUsd = null } = trace
  const { head, tail } = traceDocument({
    costUsd,
    endedAt,
    id,
    input: input.canonical,
    metadata: metadata.canonical,
    model: spell(body, model),
    name: spell(body, name),
    output: output.canonical,
    provider: spell(body, provider),
    sessionId: spell(body, sessionId),
    startedAt,
    status,
    tags: spell(body, JSON.stringify(tags)),
    usage: usageDocument(usage),
    userId: spell(body, userId)
  })
  canonical.restart(body.byteText !== undefined)
  canonical.write(BODY_HEAD + head)
  const spans = normaliseSpanList(body, trace.spans, 'trace.spans', isRestored || endedAt === null)
  refuseRepeatedIds(spans)
  canonical.write(tail + BODY_TAIL)
  canonical.resize(input, output, metadata)
  return {
    operation: 'record',
    traceId: id,
    name,
    status: status ?? 'running',
    startedAt,
    endedAt,
    provider,
    model,
    sessionId,
    userId,
    tags,
    input: input.stored,
    output: output.stored,
    metadata: metadata.stored,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    totalTokens: usage.totalTokens,
    costUsd,
    spans,
    areByteTexts: body.byteText !== undefined,
    hash: canonical.hashBody(),
    bytes: canonical.size - BODY_HEAD.length - BODY_TAIL.length - spanListBytes(spans)
  }
}

const BODY_HEAD = '{"schemaVersion":1,"trace":'
const BODY_TAIL = '}'

function refuseRepeatedIds(spans: readonly TraceSpan[]): void {
  const seen = new Set<string>()
  for (const [i, { id }] of spans.entries()) {
    if (seen.has(id)) refuse(`trace.spans[${i}].id`, 'must not repeat the id of another span')
    seen.add(id)
  }
}

/** Returns the number of UTF-8 bytes that `spans` takes in a trace's document. */
function spanListBytes(spans: readonly TraceSpan[]): number {
  const commas = Math.max(0, spans.length - 1)
  return '"spans":[],'.length + commas + spans.reduce((sum, span) => sum + span.bytes, 0)
}

export function normaliseSpans(body: Checked<SpansBody>): PreparedAppend {
  const areByteTexts = body.byteText !== undefined
  canonical.restart(areByteTexts)
  return { operation: 'append', spans: normaliseAdded(body, body.value.spans), areByteTexts }
}

export function normaliseEnd(body: Checked<EndBody>): PreparedEnd {
  const end = body.value
  checkTexts(body, '', { provider: end.provider, model: end.model })
  const tags = normaliseTags(body, end.tags, 'tags')
  const endedAt = normaliseTimestamp(end.endedAt, '', 'endedAt')
  const { output } = end
  // An empty object changes nothing, so it is treated as absent.
  const metadata = end.metadata === EMPTY_OBJECT ? undefined : end.metadata
  const usage = end.usage === undefined ? undefined : usageFields(end.usage)
  const status = end.status ?? 'unset'
  const { head, tail } = endDocument({
    endedAt,
    status,
    provider: spell(body, end.provider),
    model: spell(body, end.model),
    costUsd: end.costUsd,
    output: output?.canonical,
    metadata: metadata?.canonical,
    usage: usage === undefined ? undefined : usageDocument(usage),
    tags: spell(body, JSON.stringify(tags))
  })
  canonical.restart(body.byteText !== undefined)
  canonical.write(head)
  const spans = normaliseAdded(body, end.spans)
  canonical.write(tail)
  return {
    operation: 'end',
    endedAt,
    status,
    provider: end.provider,
    model: end.model,
    output: textOf(body, output?.stored),
    usage,
    costUsd: end.costUsd,
    metadata: textOf(body, metadata?.stored) ?? undefined,
    tags,
    spans,
    areByteTexts: body.byteText !== undefined,
    hash: canonical.hashBody()
  }
}
