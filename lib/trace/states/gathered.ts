/**
 * Builds a trace from spans that arrive one by one in any order, as OpenTelemetry sends them.
 *
 * No client sends the trace itself, and no message marks it complete, so every field comes from a span. A span that has
 * a value for a field claims the field with a rank, and the best-ranked claim supplies the value. Ranks are stored with
 * the trace. When a span with a better rank arrives, its value replaces the field's value. The trace therefore depends
 * only on which spans have arrived, never on their order.
 */
import { MAX_DOCUMENT_BYTES } from '../../schema/input.ts'
import { traceDocument, usageDocument } from '../document.ts'
import { mergedMetadata } from '../metadata.ts'
import type { TraceFields } from '../prepared.ts'
import { remembering } from '../remembering.ts'
import { isRun } from '../runs.ts'
import { countBytes } from '../span-sums.ts'
import { SpanTree } from '../span-tree.ts'
import { type Spent, sumSpending } from '../span-usage.ts'
import { durationMs, isBefore, timestampOf } from '../timestamp.ts'
import { type GatheredSpan, gatheredUsage, INNER, ROOT } from './gathered-span.ts'
import { claimedText, gradeOfText, type NewText, type Side } from './gathered-texts.ts'
import { type IdleEnd, markEnd, ranksOfEnd, readEnd } from './idle.ts'
import { type CountedSpan, countFailed, markLeftOut, ranksOfLeftOut, readLeftOut } from './left-out.ts'
import { markLeftOutTags, uniteTags } from './left-out-tags.ts'
import { beats, END, FUTURE_END, nameOfStatus, type Rank, type Ranks } from './ranks.ts'
import { NOTHING_REPLACED, type Replaced, ranksOfSteps, withReplacedSteps } from './steps.ts'

export * from './gathered-span.ts'

/** Sums over a gathered trace's spans, and the state needed to add further spans. */
interface Sums {
  readonly ranks: Ranks
  /** Exclusive-or of the span hashes, which does not depend on arrival order. */
  readonly bodyHash: string
  readonly spanCount: number
  /** Number of failed spans, including remembered left-out spans. */
  readonly errorCount: number
  readonly documentBytes: number
  readonly estimatedBytes: number
}

/** A gathered trace as stored. */
export interface GatheredState extends TraceFields, Sums {
  /** Size of the stored input in UTF-8 bytes (4 for null); `outputBytes` is the size of the output. */
  readonly inputBytes: number
  readonly outputBytes: number
  /** Whether the metadata was patched. If so, spans no longer change existing metadata keys. */
  readonly patched: boolean
  /** The stored spans. */
  readonly spans: SpanTree<CountedSpan>
}

/** The state of the trace after spans are added. */
export interface Growth extends TraceFields, Sums {
  /** Whether what the change adds makes the trace a run (lib/trace/runs.ts). If false, the stored value is kept. */
  readonly isRun: boolean
  /** The new input and output; undefined if the stored value stays. */
  readonly input: NewText | null | undefined
  readonly output: NewText | null | undefined
  readonly durationMs: number | null
  /** Increase in estimatedBytes. */
  readonly addedBytes: number
  /** Whether any field other than a sum changed. */
  readonly changed: boolean
}

/** A span's value for a field, with the claim's rank. The value of an input or output is in the span. */
interface Claim {
  readonly rank: Rank
  readonly value: string
  readonly span: GatheredSpan
}
type Claims = Map<string, Claim>

/** Grade of a value that a span states about the trace. This grade is better than every level. */
const SAID = 0
/**
 * Grades of provider and model. An llm span states the model that it called. Other spans only mention a model, and
 * often name their framework as the provider.
 */
const CALLED = 0
const ROOT_MENTIONS = 3
const MENTIONS = 4
/** Grade of a session or user id taken from a span's resource. This grade is worse than every level. */
const OF_RESOURCE = 4
/** Prefix of metadata keys in rank names. */
const KEY = 'metadata.'
const nameOfKey = remembering((key: string) => KEY + key)
const NO_SPANS = '0'.repeat(64)
/** The stored size of a trace's document excludes this member. */
const EMPTY_SPANS = '"spans":[],'

/**
 * Returns the trace with these spans added. `before` is undefined if no spans are stored. `leftOut` contains spans
 * without a slot, whose claims, usage and failures still count. `end` completes a trace without a root
 * (lib/trace/states/idle.ts). `replaced` contains the steps that spans replace. The claims and usage of these steps
 * count, but the steps are not among the trace's spans. Span and error counts are computed from the spans, not from
 * stored counts.
 */
export function gather(
  traceId: string,
  before: GatheredState | undefined,
  added: readonly GatheredSpan[],
  leftOut: readonly GatheredSpan[] = [],
  end?: IdleEnd,
  { absorbed, removed }: Replaced = NOTHING_REPLACED
): Growth {
  const speakers = leftOut.length + absorbed.length === 0 ? added : [...added, ...leftOut, ...absorbed]
  const claims = settle(before, speakers)
  const fresh = {
    ...ranksOfLeftOut(before?.ranks, leftOut.map(gatheredUsage)),
    ...ranksOfSteps(before?.ranks, [...absorbed.map(gatheredUsage), ...removed])
  }
  // A null prototype keeps V8 from creating a new shape for each new name.
  const gathered: Record<string, Rank> = Object.assign(Object.create(null), before?.ranks)
  for (const [field, { rank }] of claims) gathered[field] = rank
  const { tags, ranks: ranksOfTags } = uniteTags(
    before?.tags ?? [],
    speakers.map(({ hints }) => hints)
  )
  Object.assign(gathered, fresh, ranksOfTimes(before, speakers), ranksOfTags)
  const placed = new SpanTree(added.map(gatheredUsage), treeWithout(before?.spans, removed))
  const without = readLeftOut(gathered, placed)
  const spans = withReplacedSteps(without.length === 0 ? placed : new SpanTree(without, placed), gathered)
  const ranks = end === undefined ? gathered : { ...gathered, ...ranksOfEnd(end, spans.size) }
  const idle = readEnd(ranks, spans.size)
  const spent = sumSpending(spans)
  const fields = takeFields(before, claims, speakers, tags, ranks, idle, spent)
  const mark = (metadata: string | null) =>
    markLeftOutTags(markLeftOut(markEnd(metadata, ranks, idle), ranks, without), ranks)
  const free = fit(traceId, fields, { claims, stored: new Set(added) }, before, mark)
  const removedBytes = removed.reduce((sum, { step }) => sum + (step?.bytes ?? 0), 0)
  const addedBytes = free.documentBytes - (before?.documentBytes ?? 0) + countBytes(added) - removedBytes
  return {
    input: free.input,
    output: free.output,
    documentBytes: free.documentBytes,
    ranks,
    durationMs: fields.endedAt === null ? null : durationMs(fields.startedAt, fields.endedAt),
    addedBytes,
    changed:
      claims.size > 0 ||
      end !== undefined ||
      Object.keys(fresh).length > 0 ||
      fields.tags.length > (before?.tags.length ?? 0) ||
      Object.keys(ranksOfTags).some(name => before?.ranks[name] === undefined) ||
      fields.startedAt !== before?.startedAt ||
      fields.endedAt !== before.endedAt ||
      fields.status !== before.status,
    bodyHash: xor([
      before?.bodyHash ?? NO_SPANS,
      ...added.map(span => span.hash),
      ...removed.flatMap(({ step }) => step?.hash ?? [])
    ]),
    spanCount: placed.size,
    errorCount: countFailed(spans),
    isRun: isRun(fields, added),
    estimatedBytes: (before?.estimatedBytes ?? 0) + addedBytes,
    ...fields,
    metadata: free.metadata
  }
}

function treeWithout(
  spans: SpanTree<CountedSpan> | undefined,
  removed: readonly CountedSpan[]
): SpanTree<CountedSpan> | undefined {
  if (spans === undefined || removed.length === 0) return spans
  const ids = new Set(removed.map(({ id }) => id))
  return new SpanTree([...spans].filter(({ id }) => !ids.has(id)))
}

/** Returns each field's best new claim, unless the claim that supplied the stored value is better. */
function settle(before: GatheredState | undefined, speakers: readonly GatheredSpan[]): Claims {
  const best: Claims = new Map()
  const fixed = before?.patched === true ? Object.keys(JSON.parse(before.metadata ?? '{}')) : []
  for (const span of speakers) {
    const { id } = span
    const wins: Wins = (field, grade, order) => beats(grade, order, id, best.get(field)?.rank ?? before?.ranks[field])
    eachClaim(span, wins, (field, grade, order, value) => {
      if (wins(field, grade, order)) best.set(field, { rank: [grade, order, id], value, span })
    })
  }
  for (const key of fixed) best.delete(KEY + key)
  return best
}

/** Whether a claim with this grade and order would be the best so far. */
type Wins = (field: string, grade: number, order: number) => boolean

/**
 * Visits a span's claims. Within a grade, the span that started first wins. For outputs, the span that ended last wins.
 * The heads of a span's own texts are computed only for a claim that may win: an unreadable text only makes the grade
 * worse.
 */
function eachClaim(
  span: GatheredSpan,
  wins: Wins,
  claim: (field: string, grade: number, order: number, value: string) => void
): void {
  const { hints, provider, model, kind } = span
  const { level, startMicros, endMicros } = hints
  const ofModel = kind === 'llm' ? CALLED : level === ROOT ? ROOT_MENTIONS : MENTIONS
  claim('name', hints.name === undefined ? level : SAID, startMicros, hints.name ?? hints.ownName)
  if (level !== INNER) claim('times', level, startMicros, '')
  for (const [side, order] of [
    ['input', startMicros],
    ['output', -endMicros]
  ] as const) {
    if (hints[side] !== undefined) claim(side, SAID, order, '')
    else if (wins(side, level, order)) {
      const grade = gradeOfText(span, side)
      if (grade !== undefined) claim(side, grade, order, '')
    }
  }
  if (provider !== null) claim('provider', ofModel, startMicros, provider)
  if (model !== null) claim('model', ofModel, startMicros, model)
  if (hints.sessionId !== undefined) claim('sessionId', level, startMicros, hints.sessionId)
  if (hints.userId !== undefined) claim('userId', level, startMicros, hints.userId)
  if (hints.resourceSessionId !== undefined) claim('sessionId', OF_RESOURCE, startMicros, hints.resourceSessionId)
  if (hints.resourceUserId !== undefined) claim('userId', OF_RESOURCE, startMicros, hints.resourceUserId)
  const { metadata } = hints
  for (const key of Object.keys(metadata)) claim(nameOfKey(key), level, startMicros, metadata[key] as string)
}

function takeFields(
  before: GatheredState | undefined,
  claims: Claims,
  speakers: readonly GatheredSpan[],
  tags: readonly string[],
  ranks: Ranks,
  idle: IdleEnd | undefined,
  { inputTokens, outputTokens, totalTokens, costUsd }: Spent
): TraceFields {
  const taken = (field: 'provider' | 'model' | 'sessionId' | 'userId') =>
    claims.get(field)?.value ?? before?.[field] ?? null
  const status = statusOf(ranks) ?? idle?.status
  return {
    name: claims.get('name')?.value ?? before?.name ?? '',
    status: status ?? 'running',
    startedAt: earliest(before, speakers),
    endedAt: status === undefined ? null : endOf(ranks),
    provider: taken('provider'),
    model: taken('model'),
    sessionId: taken('sessionId'),
    userId: taken('userId'),
    tags,
    metadata: before?.metadata ?? null,
    inputTokens,
    outputTokens,
    totalTokens,
    costUsd
  }
}

/**
 * Returns the ranks that determine status and end: the statuses of roots, by level, and the latest end of all spans.
 * Ranks are only added or improved, so the result does not depend on the order of arrival.
 */
function ranksOfTimes(before: GatheredState | undefined, speakers: readonly GatheredSpan[]): Ranks {
  const ranks: Record<string, Rank> = before === undefined ? {} : earlierTimes(before)
  for (const { status, hints } of speakers) {
    if (hints.level !== INNER && status !== 'unset') ranks[nameOfStatus(hints.level, status)] = [0, 0, '']
    const name = hints.endsInFuture ? FUTURE_END : END
    const other = ranks[name] ?? before?.ranks[name]
    if (other === undefined || -hints.endMicros < other[1]) ranks[name] = [0, -hints.endMicros, '']
  }
  return ranks
}

/**
 * Returns the ranks that versions up to 1.0.0-rc.1 did not write, because those versions took status and end from a
 * single root.
 */
function earlierTimes({ ranks, spans, status }: GatheredState): Record<string, Rank> {
  if (ranks[END] !== undefined || ranks[FUTURE_END] !== undefined) return {}
  let last = 0
  for (const { endMicros } of spans) last = Math.max(last, endMicros)
  const times = ranks.times
  const isReported = times !== undefined && (status === 'ok' || status === 'error')
  return { [END]: [0, -last, ''], ...(isReported && { [nameOfStatus(times[0], status)]: [0, 0, ''] }) }
}

/** Returns the worst status of the roots, or of process roots if there are no roots; undefined if there are neither. */
function statusOf(ranks: Ranks): string | undefined {
  const level = ranks.times?.[0]
  if (level === undefined) return undefined
  return ['error', 'ok'].find(status => ranks[nameOfStatus(level, status)] !== undefined) ?? 'unset'
}

/** Returns the latest end of all spans. A span that ends in the future counts only if all spans end in the future. */
function endOf({ [END]: end, [FUTURE_END]: future }: Ranks): string {
  const [, order] = (end ?? future) as Rank
  return timestampOf(-order)
}

function earliest(before: GatheredState | undefined, speakers: readonly GatheredSpan[]): string {
  const times = [...(before === undefined ? [] : [before]), ...speakers].map(({ startedAt }) => startedAt)
  return times.reduce((first, time) => (isBefore(time, first) ? time : first))
}

interface Free {
  readonly input: NewText | null | undefined
  readonly output: NewText | null | undefined
  readonly metadata: string | null
  readonly documentBytes: number
}

/**
 * Fits input, output and metadata into one document. If the document is too large, drops the output; if that does not
 * suffice, the input instead; then both, and finally new metadata keys. The same rule applies to stored and new values,
 * so that arrival order does not matter. The spans keep their values.
 */
function fit(
  traceId: string,
  fields: TraceFields,
  { claims, stored }: { readonly claims: Claims; readonly stored: ReadonlySet<GatheredSpan> },
  before: GatheredState | undefined,
  mark: (metadata: string | null) => string | null
): Free {
  const textOf = (side: Side) => {
    const claim = claims.get(side)
    if (claim === undefined) return before === undefined ? null : undefined
    return claimedText(claim.span, side, stored.has(claim.span))
  }
  const input = textOf('input')
  const output = textOf('output')
  const keys = [...claims].filter(([field]) => field.startsWith(KEY))
  const members = keys.map(([field, { value }]) => `${JSON.stringify(field.slice(KEY.length))}:${value}`)
  const own = mark(fields.metadata)
  const metadata = members.length === 0 ? own : mergedMetadata(own, `{${members.join(',')}}`)
  const bytesOf = (text: NewText | null | undefined, was = NULL_BYTES) =>
    text === undefined ? was : text === null ? NULL_BYTES : text.bytes
  const inputs = { text: input, bytes: bytesOf(input, before?.inputBytes) }
  const outputs = { text: output, bytes: bytesOf(output, before?.outputBytes) }
  for (const kept of new Set([metadata, own])) {
    const bytes = measure(traceId, fields, kept)
    for (const [first, second] of [
      [inputs, outputs],
      [inputs, NOTHING],
      [NOTHING, outputs],
      [NOTHING, NOTHING]
    ] as const) {
      const documentBytes = bytes + first.bytes + second.bytes
      if (documentBytes > MAX_DOCUMENT_BYTES) continue
      return { input: first.text, output: second.text, metadata: kept, documentBytes }
    }
  }
  return {
    input: null,
    output: null,
    metadata: own,
    documentBytes: measure(traceId, fields, own) + 2 * NULL_BYTES
  }
}

const NULL_BYTES = 4
const NOTHING = { text: null, bytes: NULL_BYTES }

/** Returns the number of UTF-8 bytes in the trace's document without input and output values. */
function measure(id: string, fields: TraceFields, metadata: string | null): number {
  const { status, tags } = fields
  const { head, tail } = traceDocument({
    id,
    input: '',
    output: '',
    usage: usageDocument(fields),
    ...fields,
    metadata: metadata ?? '{}',
    status: status === 'running' ? null : status,
    tags: JSON.stringify(tags)
  })
  return Buffer.byteLength(head + tail) - EMPTY_SPANS.length
}

const DIGITS = Buffer.from('0123456789abcdef')
const ZERO = '0'.charCodeAt(0)
const LETTERS = 'a'.charCodeAt(0)
const sum = Buffer.from(NO_SPANS)

/** Returns the exclusive-or of hexadecimal hashes. Using BigInts took ten times as long. */
function xor(hashes: readonly string[]): string {
  for (let i = 0; i < sum.length; i++) {
    let digit = 0
    for (let k = 0; k < hashes.length; k++) {
      const code = (hashes[k] as string).charCodeAt(i)
      digit ^= code < LETTERS ? code - ZERO : code - LETTERS + 10
    }
    sum[i] = DIGITS[digit] as number
  }
  return sum.toString('latin1')
}
