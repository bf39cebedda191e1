/** Converts a Langfuse trace, with its observations and scores, into an export line. */

import { MAX_SCORES, MAX_TAGS } from '../../schema/input.ts'
import { MAX_IMPORTED_SPANS } from '../../schema/otlp-limits.ts'
import { EnvironmentError, parseEnvironment } from '../../trace/environment.ts'
import type { Json } from '../../trace/json/exact-json.ts'
import { sumKnown } from '../../trace/span-sums.ts'
import { isBefore, parseTimestamp } from '../../trace/timestamp.ts'
import { keep, LangfuseFields, type LangfuseObject, type Mapping, present, readNumber, refuseLine } from './fields.ts'
import { convertObservation, type ObservationContext, type SpanOfLine } from './observation.ts'
import { convertScore } from './score.ts'
import type { LangfuseUsage } from './usage.ts'

const WHOLE = 'export each trace whole, as GET /api/public/traces/{id} answers it'

/** Returns the line as an object without undefined fields. */
export function convertTrace(object: LangfuseObject, mapping: Mapping): LangfuseObject {
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
  if (count > most) refuseLine(`has ${count} ${what}, and at most ${most} can be stored with a trace`)
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
