/**
 * Prepares a line of an export for storage, under the same rules as recording and with the history that the line
 * contains. The functions are pure, so any thread that prepares bodies can call them.
 */

import { Refusal } from '../errors.ts'
import { checker } from '../schema/check.ts'
import { type ExportedScore, ExportLine } from '../schema/export-line.ts'
import { MAX_JSON_DEPTH, MAX_SPANS, VALUE_TYPES } from '../schema/input.ts'
import { type ParsedBody, parseBody, readText } from './body.ts'
import { type CallDetails, isCallDetails } from './call-details.ts'
import { EnvironmentError, parseEnvironment, UNASSIGNED } from './environment.ts'
import { freeJsonOf } from './json/free-json.ts'
import { parseKeeping, setMember } from './json/raw-json.ts'
import { checkTexts, normaliseTimestamp, refuse } from './normalise.ts'
import { prepareTrace } from './prepare.ts'
import type { Past, PastScore, RestoredTrace, UsageFields } from './prepared.ts'
import type { PlacedMessages } from './span-messages.ts'
import { countErrors } from './span-sums.ts'
import { isCutText } from './states/cut-texts.ts'
import { IDLE, isEndText } from './states/idle.ts'
import { countFailed, isLeftOut, isLeftOutText, readLeftOut } from './states/left-out.ts'
import { isPlain, isResponse, type Ranks, ranksText, spellOut } from './states/ranks.ts'
import { isStepRank, isStepText } from './states/steps.ts'

/**
 * Maximum depth of a line, which nests a PATCH's metadata and an end's output one level deeper than the request bodies.
 */
const MAX_LINE_DEPTH = MAX_JSON_DEPTH + 1

/** Fields that the service adds to `trace` and to spans. */
const ADDED_TO_TRACE: readonly string[] = [
  ...['environment', 'keyId', 'ingestedAt', 'metadataUpdatedAt', 'bodyHash', 'estimatedBytes'],
  ...['durationMs', 'spanCount', 'errorCount', 'scores']
]
const ADDED_TO_SPAN: readonly string[] = ['traceId', 'durationMs']
const ADDED_TO_PRICED_SPAN = [...ADDED_TO_SPAN, 'costUsd']

/** Fields of traces, spans and events that can hold any JSON. Their text is restored exactly as in the line. */
const FREE_FIELDS = ['input', 'output', 'metadata', 'attributes']

const lines = checker(ExportLine)

/** Prepares a line of an export. Throws a Refusal that names the field and the rule. */
export function prepareRestore(bytes: Uint8Array): RestoredTrace {
  const text = readText(bytes)
  const body = parseBody(text, 'invalid_trace', MAX_LINE_DEPTH)
  const line: unknown = body.value
  if (!lines.check(line, body.exact)) throw new Refusal('invalid_trace', lines.explain(body.exact, 'line'))
  checkUsage(line)
  const details = readCallDetails(line.recorded?.callDetails)
  const value = recordingOf(line, details)
  const kept = (parseKeeping(FREE_FIELDS, text, MAX_LINE_DEPTH) ?? body.exact) as ExportLine
  const exact = recordingOf(kept, details)
  const trace = prepareTrace({ ...body, value, exact })
  const ranks = checkRanks(line.recorded?.ranks)
  const computed = readComputedCosts(line, details)
  const hashes = readHashes(line.recorded?.spanHashes)
  if (ranks === undefined && trace.endedAt === null && trace.spans.length > MAX_SPANS) {
    refuse(
      'spans',
      `must have at most ${MAX_SPANS} items, because the trace is running and OpenTelemetry did not record it`
    )
  }
  return {
    ...trace,
    spans: trace.spans.map(span => {
      const own = details.get(span.id)
      const hash = hashes.get(span.id)
      const hashed = hash === undefined || !isCutText(span.attributes) ? span : { ...span, hash }
      if (own === undefined) return hashed
      return { ...hashed, callDetails: JSON.stringify(own), costUsd: computed.get(span.id) ?? span.costUsd }
    }),
    hash: line.trace.bodyHash ?? trace.hash,
    ranks: ranks === undefined ? null : ranksText(ranks),
    ...(ranks !== undefined && {
      errorCount: countErrors(trace.spans) + countFailed(readLeftOut(ranks, new Set(trace.spans.map(({ id }) => id))))
    }),
    past: {
      ...readPast(body, line, readMessages(trace.traceId, kept)),
      hasComputedCosts: computed.size > 0,
      contentHash: trace.hash
    }
  }
}

type DetailsById = ReadonlyMap<string, CallDetails>

/** Returns the computed costs of a line by span id. Computed costs are not part of the recorded body or of its hash. */
function readComputedCosts({ spans = [] }: ExportLine, details: DetailsById): ReadonlyMap<string, number> {
  const costs = new Map<string, number>()
  for (const span of spans as readonly Shown[]) {
    const id = String(span.id).toLowerCase()
    if (details.get(id)?.computedCost !== undefined && span.costUsd != null) costs.set(id, span.costUsd)
  }
  return costs
}

/**
 * Checks that the usage shown in responses agrees with the usage as sent. A line contains both, but only the usage as
 * sent is restored.
 */
function checkUsage({ trace, spans = [], recorded }: ExportLine): void {
  const { usage, spanUsage = {} } = recorded ?? {}
  requireShown((trace as Shown).usage, usage, 'trace.usage', 'recorded.usage')
  const sent = spanUsage as Readonly<Record<string, UsageInput>>
  for (const [i, span] of (spans as Shown[]).entries()) {
    const id = String(span.id)
    if (Object.hasOwn(sent, id)) requireShown(span.usage, sent[id], `spans[${i}].usage`, `recorded.spanUsage.${id}`)
  }
}

interface Shown {
  readonly id?: unknown
  readonly costUsd?: number | null
  readonly usage?: UsageInput | null
}
type UsageInput = Readonly<Partial<Record<keyof UsageFields, unknown>>>

function requireShown(shown: UsageInput | null | undefined, sent: UsageInput | undefined, path: string, name: string) {
  if (shown == null || sent == null) return
  const { inputTokens = 0, outputTokens = 0 } = sent
  const sum = Math.min(Number(inputTokens) + Number(outputTokens), Number.MAX_SAFE_INTEGER)
  const counts = { inputTokens, outputTokens, totalTokens: sent.totalTokens ?? sum }
  for (const [field, count] of Object.entries(counts)) {
    const other = shown[field as keyof UsageFields]
    if (other !== undefined && other !== count) refuse(path, `must equal the value computed from ${name}`)
  }
}

/** Reads the messages that arrived separately from their spans. */
function readMessages(traceId: string, { recorded }: ExportLine): PlacedMessages[] {
  return (recorded?.messages ?? []).map(({ spanId, micros, place, digest, input, output, event, facts, call }) => ({
    ...{ traceId, spanId: spanId.toLowerCase(), micros: Number(micros), place: Number(place), digest },
    input: freeJsonOf(input, true).stored,
    output: freeJsonOf(output, true).stored,
    event: event === undefined ? null : readEvent(event),
    facts: facts === undefined ? null : JSON.stringify(facts),
    call: call ?? null
  }))
}

/** Checks an event that arrived as a log record, and returns the event in its stored form. */
function readEvent(event: object): string {
  const { name, timestamp, attributes, ...others } = event as Readonly<Record<string, unknown>>
  const isEvent = typeof name === 'string' && typeof timestamp === 'string' && Object(attributes) === attributes
  if (!isEvent || Object.keys(others).length > 0)
    refuse('recorded.messages', 'must contain events in the same form as in spans')
  normaliseTimestamp(timestamp as string, 'recorded.messages.', 'timestamp')
  const own = freeJsonOf(attributes, true).stored ?? '{}'
  return `{"name":${JSON.stringify(name)},"timestamp":${JSON.stringify(timestamp)},"attributes":${own}}`
}

/** Returns the body that would record the line's trace, without nulls and fields added by the service. */
function recordingOf({ trace, spans = [], recorded }: ExportLine, details: DetailsById): unknown {
  const fields = presentFields(trace, ADDED_TO_TRACE)
  if (fields.status === 'running' && fields.endedAt === undefined) delete fields.status
  if (recorded?.usage != null) fields.usage = recorded.usage
  const usageOfSpans = (recorded?.spanUsage ?? {}) as Readonly<Record<string, unknown>>
  fields.spans = spans.map(span => {
    const isComputed = details.get(String((span as Shown).id).toLowerCase())?.computedCost !== undefined
    const own = presentFields(span, isComputed ? ADDED_TO_PRICED_SPAN : ADDED_TO_SPAN)
    const id = String(own.id)
    if (Object.hasOwn(usageOfSpans, id)) setPresent(own, 'usage', usageOfSpans[id])
    if (Array.isArray(own.events)) own.events = own.events.map(presentIn)
    return own
  })
  return { schemaVersion: 1, trace: fields }
}

const presentIn = (event: unknown): unknown =>
  typeof event === 'object' && event !== null ? presentFields(event) : event

/**
 * Returns the fields that are not null, undefined or listed in `without`. Fields are assigned one by one, because
 * Object.fromEntries took most of the time that a restore spent on a line.
 */
function presentFields(object: object, without: readonly string[] = []): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const name of Object.keys(object)) {
    if (!without.includes(name)) setPresent(fields, name, (object as Readonly<Record<string, unknown>>)[name])
  }
  return fields
}

/** Sets a field, or removes the field if the value is null or undefined. */
function setPresent(fields: Record<string, unknown>, name: string, value: unknown): void {
  if (value != null) setMember(fields, name, value)
  else if (Object.hasOwn(fields, name)) delete fields[name]
}

function readPast(
  body: ParsedBody,
  { trace, scores = [], recorded }: ExportLine,
  messages: readonly PlacedMessages[]
): Past {
  const time = (text: string | null | undefined, field: string) =>
    text == null ? null : normaliseTimestamp(text, 'trace.', field)
  const seen = new Set<string>()
  const past = scores.map((score, i) => {
    const read = readScore(body, score, `scores[${i}].`)
    if (seen.has(read.id)) refuse(`scores[${i}].id`, 'must not repeat the id of another score')
    seen.add(read.id)
    return read
  })
  return {
    environment: readEnvironment(trace.environment),
    keyId: trace.keyId ?? null,
    ingestedAt: time(trace.ingestedAt, 'ingestedAt'),
    metadataUpdatedAt: time(trace.metadataUpdatedAt, 'metadataUpdatedAt'),
    endHash: recorded?.endHash ?? null,
    estimatedBytes: trace.estimatedBytes,
    scores: past.reverse(),
    messages
  }
}

function readEnvironment(label: string | null | undefined): string | null {
  if (label === undefined) return null
  if (label === null || label.toLowerCase() === UNASSIGNED) return UNASSIGNED
  try {
    return parseEnvironment(label)
  } catch (error) {
    if (error instanceof EnvironmentError) return refuse('trace.environment', error.message)
    throw error
  }
}

/** Returns call details by span id. */
function readCallDetails(details: object | undefined): DetailsById {
  return new Map(
    Object.entries(details ?? {}).map(([id, value]) => {
      if (!isCallDetails(value)) refuse(`recorded.callDetails.${id}`, 'must be an object of call details')
      return [id.toLowerCase(), value as CallDetails]
    })
  )
}

/** Returns the hashes of spans whose texts were cut, by span id. Each hash covers the span as sent. */
function readHashes(hashes: object | undefined): ReadonlyMap<string, string> {
  const all = Object.entries(hashes ?? {})
  const wrong = all.find(([, hash]) => typeof hash !== 'string' || !SHORT_HASH.test(hash))
  if (wrong !== undefined) refuse(`recorded.spanHashes.${wrong[0]}`, 'must be 32 hexadecimal digits')
  return new Map(all)
}

const SHORT_HASH = /^[0-9a-f]{32}$/

/** Checks a gathered trace's ranks. Each rank is a grade, a time and a string, usually a span id. */
function checkRanks(written: object | undefined): Ranks | undefined {
  if (written === undefined) return undefined
  const ranks = spellOut(written as Readonly<Record<string, unknown>>)
  for (const [name, rank] of Object.entries(ranks)) {
    const [grade, order, text] = Array.isArray(rank) ? rank : []
    if (!Number.isInteger(grade) || !Number.isSafeInteger(order) || !isRankText(name, text)) {
      refuse(`recorded.ranks.${name}`, 'must be a grade, a time, and the id of a span or the facts kept about it')
    }
  }
  return ranks as Ranks
}

function isRankText(name: string, text: unknown): boolean {
  if (typeof text !== 'string') return false
  if (isLeftOut(name)) return isLeftOutText(text)
  if (isStepRank(name)) return isStepText(text)
  if (name === IDLE) return isEndText(text)
  if (isPlain(name)) return text === ''
  return isResponse(name) || /^[0-9a-f]{16}$/.test(text)
}

function readScore(body: ParsedBody, score: ExportedScore, path: string): PastScore {
  const { dataType, value, comment = null, evaluatorId = null, runId = null } = score
  const type = VALUE_TYPES[dataType]
  if (typeof value !== type) refuse(`${path}value`, `must be a ${type}, because dataType is ${dataType}`)
  checkTexts(body, path, { value, comment, evaluatorId, runId })
  return {
    id: score.id.toLowerCase(),
    spanId: score.spanId?.toLowerCase() ?? null,
    name: score.name,
    dataType,
    value,
    comment,
    source: score.source ?? 'api',
    evaluatorId,
    runId,
    createdAt: normaliseTimestamp(score.createdAt, path, 'createdAt')
  }
}
