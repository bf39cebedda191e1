/**
 * Converts Langfuse data into export lines: responses of `GET /api/public/traces/{id}`, lists of such traces (`data`),
 * and downloads from Langfuse's pages (`{trace, observations}`, or only `{observations, scores}`).
 */
import { Refusal } from '../../errors.ts'
import { MAX_JSON_DEPTH, MAX_SCORES, MAX_TAGS } from '../../schema/input.ts'
import { MAX_IMPORTED_SPANS } from '../../schema/otlp-limits.ts'
import { readBody } from '../../trace/body.ts'
import { EnvironmentError, parseEnvironment } from '../../trace/environment.ts'
import { isJsonObject, type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import { sumKnown } from '../../trace/span-sums.ts'
import { isBefore, parseTimestamp } from '../../trace/timestamp.ts'
import type { Converted } from '../import-file.ts'
import {
  isId,
  isSame,
  keep,
  LangfuseFields,
  type LangfuseObject,
  Mapping,
  mapId,
  present,
  readNumber,
  refuseLine
} from './fields.ts'
import { type LangfuseUsage, readLangfuseCost, readLangfuseUsage } from './usage.ts'

/** Langfuse's wrappers may add nesting levels that a line does not have. */
const MAX_DEPTH = MAX_JSON_DEPTH + 3

/** For each trace in one value of a file, yields a line or the reason why the trace cannot be converted. */
export function* convertLangfuse(bytes: Uint8Array): Generator<Converted> {
  const { exact } = readBody(bytes, 'invalid_trace', MAX_DEPTH)
  for (const trace of tracesIn(exact)) yield convertOne(trace)
}

function convertOne(trace: Json): Converted {
  const mapping = new Mapping()
  try {
    const object = isJsonObject(trace) ? trace : refuseLine('is not an object')
    const line = convertTrace(wholeTrace(object), mapping)
    return { line: Buffer.from(stringifyExact(line)), mapped: mapping.counts }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error.message }
    throw error
  }
}

function tracesIn(value: Json): readonly Json[] {
  return isJsonObject(value) && Array.isArray(value.data) ? value.data : [value]
}

/**
 * Returns the trace as one object that includes its observations and scores, regardless of where the value holds these.
 */
function wholeTrace(object: LangfuseObject): LangfuseObject {
  const { trace, observations, ...others } = object
  if (isJsonObject(trace)) return { ...trace, ...others, ...(observations !== undefined && { observations }) }
  if (object.id !== undefined || !Array.isArray(observations)) return object
  return { ...traceOf(observations), ...object }
}

/** Builds a trace from its observations' fields, for a download that contains no trace object. */
function traceOf(observations: readonly Json[]): LangfuseObject {
  const [first, ...others] = observations.filter(isJsonObject)
  if (first === undefined) return {}
  const starts = [first, ...others].map(({ startTime }) => String(startTime)).sort()
  const { traceId, traceName, userId, sessionId, environment, release, tags, public: isPublic, bookmarked } = first
  return {
    ...{ id: traceId, name: traceName, timestamp: starts[0], userId, sessionId, environment, release, tags },
    ...{ public: isPublic, bookmarked, projectId: first.projectId }
  }
}

const WHOLE = 'export each complete trace, as returned by GET /api/public/traces/{id}'

/** Returns the line as an object without undefined fields. */
function convertTrace(object: LangfuseObject, mapping: Mapping): LangfuseObject {
  const fields = new LangfuseFields('trace', 'trace', object, mapping)
  const metadata = fields.object('metadata')
  const id = fields.mappedId(32, metadata, 'metadata')
  const observations = fields.list('observations', 'spans', WHOLE) ?? []
  if (observations.length === 0) fields.note('observations missing', 'no spans')
  checkCount('observations', observations.length, MAX_IMPORTED_SPANS)
  const observationIds = new Set(observations.map(observation => observation.id))
  const surroundings = { trace: object, observationIds, mapping }
  const spans = observations.map((observation, i) => convertObservation(observation, i, surroundings))
  const scores = convertScores(fields, surroundings, metadata)
  const startedAt = fields.requiredTime('timestamp', 'startedAt')
  const trace = {
    id,
    name: fields.name('name', 500, 'unnamed'),
    status: spans.some(span => span.status === 'error') ? 'error' : 'unset',
    environment: readEnvironment(fields),
    startedAt,
    endedAt: readEnd(fields, startedAt, spans),
    sessionId: fields.text('sessionId', 200),
    userId: fields.text('userId', 200),
    tags: readTags(fields),
    input: fields.take('input'),
    output: fields.take('output'),
    metadata,
    usage: sumUsage(spans),
    costUsd: readTotalCost(fields, spans),
    ingestedAt: fields.time('createdAt', 'ingestedAt')
  }
  fields.keepRest(metadata, 'metadata')
  return { trace: present(trace), spans: spans.map(present), scores: scores.map(present) }
}

function checkCount(what: string, count: number, most: number): void {
  if (count > most) refuseLine(`has ${count} ${what}, but at most ${most} can be stored with a trace`)
}

/**
 * Converts scores for an export line, newest first. Fields that a score cannot hold are added to the metadata, under
 * the score's id.
 */
function convertScores(fields: LangfuseFields, surroundings: ObservationContext, metadata: Record<string, Json>) {
  const converted = (fields.list('scores', 'scores', WHOLE) ?? []).map((score, i) =>
    convertScore(score, i, surroundings)
  )
  const rests = converted.filter(({ rest }) => Object.keys(rest).length > 0)
  if (rests.length > 0) keep(metadata, 'scores', Object.fromEntries(rests.map(({ id, rest }) => [id, rest])))
  const scores = converted.flatMap(({ score }) => score ?? [])
  checkCount('scores', scores.length, MAX_SCORES)
  return scores.sort((a, b) => (isBefore(a.createdAt, b.createdAt) ? 1 : isBefore(b.createdAt, a.createdAt) ? -1 : 0))
}

/** Reads the environment. Returns undefined if the label is missing or invalid. An invalid label stays unread. */
function readEnvironment(fields: LangfuseFields): string | undefined {
  const environment = fields.see('environment')
  if (typeof environment !== 'string') return undefined
  try {
    const label = parseEnvironment(environment)
    fields.took('environment', 'environment')
    return label
  } catch (error) {
    if (error instanceof EnvironmentError) return undefined
    throw error
  }
}

/** Computes a trace's end, which Langfuse does not record: the last observation's end, or else start plus latency. */
function readEnd(fields: LangfuseFields, startedAt: string, spans: readonly SpanOfLine[]): string {
  const later = (one: string, other: string) => (isBefore(one, other) ? other : one)
  if (spans.length > 0) {
    fields.note('observations', 'endedAt (the latest end)')
    return spans.reduce((last, span) => later(last, span.endedAt), startedAt)
  }
  const seconds = readNumber(fields.see('latency')) ?? 0
  const end = Date.parse(startedAt) + seconds * 1000
  return later(startedAt, (Number.isFinite(end) && parseTimestamp(isoTime(end))) || startedAt)
}

function isoTime(ms: number): string {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString()
}

/** Reads the valid tags. If any tag is invalid, the original list is also kept. */
function readTags(fields: LangfuseFields): string[] {
  const tags = fields.see('tags')
  if (!Array.isArray(tags)) return []
  const fit = tags.filter((tag): tag is string => typeof tag === 'string' && tag !== '' && [...tag].length <= 64)
  const kept = [...new Set(fit)].slice(0, MAX_TAGS)
  if (fit.length === tags.length && kept.length === new Set(fit).size) fields.took('tags', 'tags')
  else fields.note('tags', `tags (those that fit) and metadata langfuse.tags`)
  return kept
}

/** Sums the usage of all observations, as Langfuse does. */
function sumUsage(spans: readonly SpanOfLine[]): LangfuseUsage | undefined {
  const sum: LangfuseUsage = {}
  for (const { usage = {} } of spans) {
    for (const name of ['inputTokens', 'outputTokens', 'totalTokens'] as const) {
      const count = usage[name]
      if (count !== undefined) sum[name] = Math.min((sum[name] ?? 0) + count, Number.MAX_SAFE_INTEGER)
    }
  }
  return Object.keys(sum).length === 0 ? undefined : sum
}

/** Reads the total cost. Langfuse writes zero if no cost is known. */
function readTotalCost(fields: LangfuseFields, spans: readonly SpanOfLine[]): number | undefined {
  const total = readNumber(fields.see('totalCost'))
  if (total === 0) fields.drop('totalCost')
  if (total !== undefined && total > 0) {
    fields.took('totalCost', 'costUsd')
    return total
  }
  return sumKnown(spans.map(({ costUsd }) => costUsd)) ?? undefined
}

/** A span in the form used in export lines. */
type SpanOfLine = ReturnType<typeof convertObservation>

/** The facts about the trace that are needed to map an observation or a score. */
interface ObservationContext {
  /** The trace. A field that has the same value in the trace and in the observation or score is kept only once. */
  readonly trace: LangfuseObject
  readonly observationIds: ReadonlySet<unknown>
  readonly mapping: Mapping
}

/** Types with a matching kind in spoor. Any other type is kept in the attributes. */
const KINDS: Readonly<Record<string, string>> = {
  GENERATION: 'llm',
  AGENT: 'agent',
  TOOL: 'tool',
  CHAIN: 'chain',
  RETRIEVER: 'retriever',
  EMBEDDING: 'embedding'
}

function convertObservation(object: LangfuseObject, index: number, surroundings: ObservationContext) {
  const { trace, observationIds, mapping } = surroundings
  const fields = new LangfuseFields('observation', `observation ${index + 1}`, object, mapping)
  const attributes = fields.object('metadata', 'attributes')
  const id = fields.mappedId(16, attributes, 'attributes')
  const parent = fields.see('parentObservationId')
  const hasParent = typeof parent === 'string'
  // If the parent is missing and its id changes, the parent's original id is kept as an attribute, because no other
  // field records it.
  if (hasParent && (isId(parent, 16) || observationIds.has(parent))) fields.took('parentObservationId', 'parentSpanId')
  const startedAt = fields.requiredTime('startTime', 'startedAt')
  const endedAt = fields.time('endTime', 'endedAt')
  if (endedAt === undefined) fields.note('endTime missing', 'endedAt as startedAt')
  const usage = readLangfuseUsage(fields)
  const span = {
    id,
    parentSpanId: hasParent ? mapId(parent, 16) : null,
    name: fields.name('name', 500, 'unnamed'),
    kind: readKind(fields),
    status: readStatus(fields),
    startedAt,
    endedAt: endedAt ?? startedAt,
    model: fields.text('model', 200),
    input: fields.take('input'),
    output: fields.take('output'),
    attributes,
    usage,
    costUsd: readLangfuseCost(fields, usage)
  }
  fields.drop('traceId')
  fields.keepRest(attributes, 'attributes', { ...trace, traceName: trace.name })
  return span
}

function readKind(fields: LangfuseFields): string {
  const type = String(fields.see('type') ?? 'missing').toUpperCase()
  const kind = KINDS[type] ?? 'custom'
  fields.note(`type ${type}`, `kind ${kind}`)
  if (kind !== 'custom') fields.drop('type')
  return kind
}

/** Reads the status from the level. Langfuse writes DEFAULT if no level was given. */
function readStatus(fields: LangfuseFields): 'error' | 'unset' {
  const level = fields.see('level')
  const status = level === 'ERROR' ? 'error' : 'unset'
  if (level !== undefined) fields.note(`level ${level}`, `status ${status}`)
  if (level === 'ERROR' || level === 'DEFAULT') fields.drop('level')
  return status
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/
const SOURCES: Readonly<Record<string, string>> = { API: 'api', ANNOTATION: 'annotation', EVAL: 'eval' }

/**
 * Returns the score in the form used in export lines; undefined if spoor cannot represent it, that is, if its value is
 * a long text or a correction. `rest` holds fields that a score cannot hold. They are kept in the trace's metadata.
 */
function convertScore(object: LangfuseObject, index: number, surroundings: ObservationContext) {
  const { trace, observationIds, mapping } = surroundings
  const fields = new LangfuseFields('score', `score ${index + 1}`, object, mapping)
  const originalId = fields.id('id')
  const id = mapId(originalId, 16)
  const value = readValue(fields)
  if (value === undefined) {
    fields.note(`dataType ${fields.see('dataType') ?? 'missing'} without a matching value`, 'metadata langfuse.scores')
    return { id, score: undefined, rest: object }
  }
  if (isId(originalId, 16)) fields.took('id', 'id')
  else fields.note('id', 'id (hashed) and metadata langfuse.scores')
  const observation = fields.see('observationId')
  const hasObservation = typeof observation === 'string'
  if (hasObservation && (isId(observation, 16) || observationIds.has(observation)))
    fields.took('observationId', 'spanId')
  const score = {
    id,
    spanId: hasObservation ? mapId(observation, 16) : null,
    name: readName(fields),
    ...value,
    comment: fields.text('comment', 2000),
    source: readSource(fields),
    createdAt: fields.time('timestamp', 'createdAt') ?? fields.requiredTime('createdAt', 'createdAt')
  }
  fields.drop('traceId')
  if (isSame(fields.see('createdAt'), fields.see('timestamp'))) fields.drop('createdAt')
  const rest: Record<string, Json> = {}
  for (const [name, left] of fields.rest(trace)) {
    if (name !== 'id') fields.note(name, 'metadata langfuse.scores')
    rest[name] = left
  }
  return { id, score, rest }
}

/** Reads the value. Returns undefined if a spoor score cannot hold the value. */
function readValue(fields: LangfuseFields): { dataType: string; value: number | string | boolean } | undefined {
  const value = fields.see('value')
  const number = typeof value === 'boolean' ? Number(value) : readNumber(value)
  const text = fields.see('stringValue') ?? value
  const type = fields.see('dataType') ?? (number === undefined ? 'CATEGORICAL' : 'NUMERIC')
  const took = (dataType: string, value: number | string | boolean, name: string) => {
    fields.drop('dataType')
    fields.note(`dataType ${type}`, `dataType ${dataType}`)
    fields.took(name, 'value')
    return { dataType, value }
  }
  if (type === 'NUMERIC' && number !== undefined) return took('numeric', number, 'value')
  if (type === 'BOOLEAN' && (number === 0 || number === 1)) {
    fields.drop('stringValue')
    return took('boolean', number === 1, 'value')
  }
  const isCategory = (type === 'CATEGORICAL' || type === 'TEXT') && typeof text === 'string' && [...text].length <= 200
  if (!isCategory) return undefined
  return took('categorical', text, fields.see('stringValue') === undefined ? 'value' : 'stringValue')
}

/** Reads the name. Disallowed characters become `_`. In that case, the original name stays unread. */
function readName(fields: LangfuseFields): string {
  const name = fields.id('name')
  if (NAME.test(name)) fields.took('name', 'name')
  else fields.note('name', 'name (changed) and metadata langfuse.scores')
  return name.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 64)
}

function readSource(fields: LangfuseFields): string {
  const source = String(fields.see('source') ?? 'API').toUpperCase()
  if (Object.hasOwn(SOURCES, source)) fields.took('source', 'source')
  return SOURCES[source] ?? 'api'
}
