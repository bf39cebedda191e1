/**
 * What a checked body means: defaults applied, ids folded, times in one form, the rules that a schema cannot say, and
 * the documents that decide identity and size.
 */
import { Refusal } from '../errors.ts'
import type { EndBody, IngestBody, SpanInput, SpansBody } from '../schema/input.ts'
import { endDocument, sha256, spanDocument, traceDocument, usageDocument } from './document.ts'
import { canonicalise, stringifyExact } from './json.ts'
import type { PreparedAppend, PreparedEnd, PreparedSpan, PreparedTrace, UsageFields } from './prepared.ts'
import { isBefore, parseTimestamp } from './timestamp.ts'

/** A parsed body. */
export interface Body {
  readonly value: unknown
  /** The same value with LosslessNumbers where a double cannot hold a number; `value` itself where there are none. */
  readonly exact: unknown
  readonly inexact: boolean
  /** Strings may hold U+0000 or unpaired surrogates. */
  readonly escapes: boolean
}

export const refuse = (field: string, rule: string): never => {
  throw new Refusal('invalid_trace', `${field}: ${rule}`)
}

/** Why PostgreSQL could not keep this as text, or undefined. Free JSON keeps both; text columns cannot. */
export function unstorable(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not contain U+0000'
  return text.isWellFormed() ? undefined : 'must not contain unpaired surrogates'
}

export function checkTexts(body: Body, path: string, fields: Readonly<Record<string, unknown>>): void {
  if (!body.escapes) return
  for (const [field, text] of Object.entries(fields)) {
    const rule = typeof text === 'string' ? unstorable(text) : undefined
    if (rule !== undefined) refuse(path + field, rule)
  }
}

export const timestamp = (text: string, field: string): string =>
  parseTimestamp(text) ?? refuse(field, 'must be an ISO 8601 date and time, such as 2026-11-21T12:00:00.123Z')

const usageFields = (usage: SpanInput['usage']): UsageFields => ({
  inputTokens: usage?.inputTokens ?? null,
  outputTokens: usage?.outputTokens ?? null,
  totalTokens: usage?.totalTokens ?? null
})

/** Free JSON in both its forms: as stored (null for the column's default), and canonical. */
interface FreeJson {
  readonly stored: string | null
  readonly canonical: string
}
const NULL: FreeJson = { stored: null, canonical: 'null' }
const EMPTY_OBJECT: FreeJson = { stored: null, canonical: '{}' }
const EMPTY_LIST: FreeJson = { stored: null, canonical: '[]' }

function freeJson(value: unknown, inexact: boolean): FreeJson {
  if (value === undefined || value === null) return NULL
  const stored = stringifyExact(value, inexact)
  return { stored, canonical: canonicalise(value, stored) }
}

function freeObject(value: unknown, inexact: boolean): FreeJson {
  const json = freeJson(value, inexact)
  return json.stored === null || json.stored === '{}' ? EMPTY_OBJECT : json
}

function normaliseEvents(body: Body, span: SpanInput, exact: SpanInput, path: string): FreeJson {
  if (span.events === undefined || span.events.length === 0) return EMPTY_LIST
  const events = span.events.map((event, i) => {
    checkTexts(body, `${path}events[${i}].`, { name: event.name })
    return {
      attributes: exact.events?.[i]?.attributes ?? null,
      name: event.name,
      timestamp: timestamp(event.timestamp, `${path}events[${i}].timestamp`)
    }
  })
  return freeJson(events, body.inexact)
}

/** Prepares one span; `document` is its canonical form. `path` ends where the field's name begins. */
function normaliseSpan(body: Body, span: SpanInput, exact: SpanInput, path: string) {
  checkTexts(body, path, { name: span.name, provider: span.provider, model: span.model })
  const startedAt = timestamp(span.startedAt, `${path}startedAt`)
  const endedAt = timestamp(span.endedAt, `${path}endedAt`)
  if (isBefore(endedAt, startedAt)) refuse(`${path}endedAt`, 'must not be before startedAt')
  const usage = usageFields(span.usage)
  const usageText = usageDocument(usage)
  const input = freeJson(exact.input, body.inexact)
  const output = freeJson(exact.output, body.inexact)
  const attributes = freeObject(exact.attributes, body.inexact)
  const events = normaliseEvents(body, span, exact, path)
  const id = span.id.toLowerCase()
  const parentId = span.parentSpanId?.toLowerCase() ?? null
  const { name, kind = 'custom', status = 'unset', provider = null, model = null, costUsd = null } = span
  const document = spanDocument({
    attributes: attributes.canonical,
    costUsd,
    endedAt,
    events: events.canonical,
    id,
    input: input.canonical,
    kind,
    model,
    name,
    output: output.canonical,
    parentId,
    provider,
    startedAt,
    status,
    usage: usageText === '{}' ? undefined : usageText
  })
  // Written out, not spread: an object made by spreading costs microseconds, and there are eight of them in a trace.
  const prepared: PreparedSpan = {
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
    hash: sha256(document),
    bytes: Buffer.byteLength(document)
  }
  return { prepared, document }
}

function normaliseSpanList(body: Body, spans: SpanInput[] | undefined, exact: SpanInput[] | undefined, path: string) {
  return (spans ?? []).map((span, i) => normaliseSpan(body, span, exact?.[i] as SpanInput, `${path}[${i}].`))
}

/** Tags without repetitions, the first occurrence kept. */
function normaliseTags(body: Body, tags: readonly string[] | undefined, path: string): string[] {
  if (tags === undefined || tags.length === 0) return []
  if (body.escapes) checkTexts(body, path, Object.fromEntries(tags.map((tag, i) => [`[${i}]`, tag])))
  return [...new Set(tags)]
}

export function normaliseTrace(body: Body): PreparedTrace {
  const { trace } = body.value as IngestBody
  const exact = (body.exact as IngestBody).trace
  if (trace.status !== undefined && trace.endedAt === undefined) {
    refuse('trace.status', 'must be absent when trace.endedAt is absent: a running trace gets its status when it ends')
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
  const startedAt = timestamp(trace.startedAt, 'trace.startedAt')
  const endedAt = trace.endedAt === undefined ? null : timestamp(trace.endedAt, 'trace.endedAt')
  if (endedAt !== null && isBefore(endedAt, startedAt)) refuse('trace.endedAt', 'must not be before startedAt')
  const spans = normaliseSpanList(body, trace.spans, exact.spans, 'trace.spans')
  const seen = new Set<string>()
  for (const [i, { prepared }] of spans.entries()) {
    if (seen.has(prepared.id)) refuse(`trace.spans[${i}].id`, 'must not repeat the id of another span')
    seen.add(prepared.id)
  }

  const input = freeJson(exact.input, body.inexact)
  const output = freeJson(exact.output, body.inexact)
  const metadata = freeObject(exact.metadata, body.inexact)
  const usage = usageFields(trace.usage)
  const id = trace.id.toLowerCase()
  const status = endedAt === null ? null : (trace.status ?? 'unset')
  const { provider = null, model = null, sessionId = null, userId = null, costUsd = null } = trace
  const whole = traceDocument(
    {
      costUsd,
      endedAt,
      id,
      input: input.canonical,
      metadata: metadata.canonical,
      model,
      name,
      output: output.canonical,
      provider,
      sessionId,
      startedAt,
      status,
      tags: JSON.stringify(tags),
      usage: usageDocument(usage),
      userId
    },
    spans.map(span => span.document)
  )
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
    spans: spans.map(span => span.prepared),
    hash: sha256(`{"schemaVersion":1,"trace":${whole}}`),
    bytes: Buffer.byteLength(whole) - spanListBytes(spans.map(span => span.prepared))
  }
}

/** UTF-8 bytes that the member `spans` takes in a trace's canonical document. */
function spanListBytes(spans: readonly PreparedSpan[]): number {
  const commas = Math.max(0, spans.length - 1)
  return '"spans":[],'.length + commas + spans.reduce((sum, span) => sum + span.bytes, 0)
}

export function normaliseSpans(body: Body): PreparedAppend {
  const { spans } = body.value as SpansBody
  const prepared = normaliseSpanList(body, spans, (body.exact as SpansBody).spans, 'spans')
  return { operation: 'append', spans: prepared.map(span => span.prepared) }
}

export function normaliseEnd(body: Body): PreparedEnd {
  const end = body.value as EndBody
  const exact = body.exact as EndBody
  checkTexts(body, '', { provider: end.provider, model: end.model })
  const tags = normaliseTags(body, end.tags, 'tags')
  const endedAt = timestamp(end.endedAt, 'endedAt')
  const spans = normaliseSpanList(body, end.spans, exact.spans, 'spans')
  const output = end.output === undefined ? undefined : freeJson(exact.output, body.inexact)
  // Merging nothing is the same as not merging.
  const merged = freeObject(exact.metadata, body.inexact)
  const metadata = merged.stored === null ? undefined : merged
  const usage = end.usage === undefined ? undefined : usageFields(end.usage)
  const status = end.status ?? 'unset'
  const document = endDocument({
    endedAt,
    status,
    provider: end.provider,
    model: end.model,
    costUsd: end.costUsd,
    output: output?.canonical,
    metadata: metadata?.canonical,
    usage: usage === undefined ? undefined : usageDocument(usage),
    tags: JSON.stringify(tags),
    spans: spans.map(span => span.document)
  })
  return {
    operation: 'end',
    endedAt,
    status,
    provider: end.provider,
    model: end.model,
    output: output === undefined ? undefined : output.stored,
    usage,
    costUsd: end.costUsd,
    metadata: merged.stored ?? undefined,
    tags,
    spans: spans.map(span => span.prepared),
    hash: sha256(document)
  }
}
