/**
 * Decides how a line of an export changes a stored trace.
 *
 * The line and the stored trace are two states of one trace. A trace only grows: it gains spans and scores, ends once,
 * receives metadata patches at increasing times, and takes its OpenTelemetry fields from better spans. One state is
 * therefore later than another if it has everything that the other state has, and more.
 *
 * A later line advances the stored trace to the line's state. An earlier line changes nothing. If each state lacks
 * something that the other has, or if the states disagree, the states contradict each other. The restore then reports
 * the contradiction and changes nothing. The recording key, the time of recording and the environment are not compared;
 * their stored values are kept.
 */
import { MAX_TAGS } from '../../schema/input.ts'
import { canonicalise, parseExact } from '../json/exact-json.ts'
import {
  isStoredAs,
  type PastScore,
  type RestoredTrace,
  type SpanHead,
  shortHash,
  type TraceFields,
  type UsageFields
} from '../prepared.ts'
import { isRun } from '../runs.ts'
import { countBytes, countErrors } from '../span-sums.ts'
import { durationMs, isBefore } from '../timestamp.ts'
import { END, isBetter, isResponse, type Rank, type Ranks, readRanks } from './ranks.ts'

/** The part of a line that decisions read, without the spans' texts. */
export type RestoredHead = Omit<RestoredTrace, 'spans'> & { readonly spans: readonly SpanHead[] }

/** The part of a stored trace that only this decision reads. */
export interface CopyState {
  readonly status: string
  readonly endedAt: string | null
  readonly sessionId: string | null
  /** The trace's input and output as JSON text; null for a JSON null. */
  readonly input: string | null
  readonly output: string | null
  readonly metadataUpdatedAt: string | null
  /** Ranks of the trace's fields. Unset unless OpenTelemetry recorded the trace. */
  readonly ranks: Ranks | undefined
  /** Whether any span's cost was computed from its tokens. */
  readonly hasComputedCosts: boolean
  readonly scores: readonly PastScore[]
}

/** The state of a stored trace, limited to what a line can express. */
export interface CopiedState extends Omit<TraceFields, 'status' | 'endedAt' | 'sessionId'> {
  readonly running: boolean
  readonly bodyHash: string
  readonly endHash: string | null
  readonly spanCount: number
  readonly estimatedBytes: number
  /** Hashes, by span id, of the stored spans that the line also contains. */
  readonly spanHashes: ReadonlyMap<string, string>
  readonly copy: CopyState
}

/** The state to which a line advances a stored trace. */
export interface Advance
  extends Omit<RestoredHead, 'spans' | 'past' | 'operation' | 'hash' | 'bytes' | 'input' | 'output'> {
  readonly spanCount: number
  readonly errorCount: number
  /** Whether what the change adds makes the trace a run (lib/trace/runs.ts). If false, the stored value is kept. */
  readonly isRun: boolean
  readonly documentBytes: number
  readonly estimatedBytes: number
  /** Increase in estimatedBytes. */
  readonly addedBytes: number
  readonly durationMs: number | null
  /** The new input and output; undefined if the stored value stays. */
  readonly input: string | null | undefined
  readonly output: string | null | undefined
  readonly bodyHash: string
  readonly endHash: string | null
  readonly metadataUpdatedAt: string | null
  readonly scoreCount: number
  /** Spans to insert. `scores` holds the indexes, in the line's past, of the scores to insert, oldest first. */
  readonly spans: readonly SpanHead[]
  readonly scores: readonly number[]
}

export type RestoreDecision =
  | { readonly type: 'known' }
  | { readonly type: 'advance'; readonly advance: Advance }
  | { readonly type: 'contradiction'; readonly reason: string }

/** How the line compares with the stored trace in one respect. */
interface Comparison {
  /** Names the content that one state has and the other lacks. The reason contains this text. */
  readonly what: string
  readonly ahead?: boolean
  readonly behind?: boolean
  /** Why the line and the stored trace cannot be states of one trace. */
  readonly contradiction?: string | undefined
}

export function decideRestore(state: CopiedState, line: RestoredHead): RestoreDecision {
  const ranks = line.ranks == null ? undefined : readRanks(line.ranks)
  const stored = state.copy.ranks
  const isSameStart = state.bodyHash === line.hash || state.bodyHash === line.formerHash
  if ((ranks === undefined) !== (stored === undefined) || (ranks === undefined && !isSameStart)) {
    return { type: 'contradiction', reason: `trace ${line.traceId} already exists with different content` }
  }
  const spans = line.spans.filter(({ id }) => !state.spanHashes.has(id))
  const scores = newScores(state.copy, line)
  const fields = ranks === undefined ? [compareEnds(state, line)] : compareGathered(state, line, stored ?? {}, ranks)
  const patches = comparePatches(state.copy, line)
  const spanComparison = compareSpans(state, line, spans)
  const all = [
    spanComparison,
    compareScores(state.copy, line, scores),
    ...fields,
    patches,
    compareMetadata(state, line, [...fields, patches]),
    ranks === undefined
      ? compareContent(state, line, isMoved(fields) ? OF_START : OF_NATIVE)
      : compareContent(state, line, isMoved([spanComparison, ...fields, patches]) ? [] : gatheredContent(state, line))
  ]
  const reason = all.find(each => each.contradiction !== undefined)?.contradiction ?? mixed(all)
  if (reason !== undefined) return { type: 'contradiction', reason }
  if (!all.some(each => each.ahead)) return { type: 'known' }
  const setsFields = fields.some(each => each.ahead)
  return { type: 'advance', advance: advanceOf(state, line, spans, scores, setsFields) }
}

/** Whether either state is ahead in any of these respects. */
const isMoved = (comparisons: readonly Comparison[]): boolean =>
  comparisons.some(({ ahead, behind }) => ahead || behind)

/** Returns why neither state is later than the other, or undefined if one state is later. */
function mixed(comparisons: readonly Comparison[]): string | undefined {
  const listed = (some: readonly Comparison[]) => [...new Set(some.map(({ what }) => what))].join(' and ')
  const ahead = listed(comparisons.filter(each => each.ahead))
  const behind = listed(comparisons.filter(each => each.behind))
  if (ahead === '' || behind === '') return undefined
  return `this line has ${ahead} that the stored trace lacks, and the stored trace has ${behind} that this line lacks`
}

/** Whether the line lacks some stored items. `fresh` contains the line's items that are not stored. */
const lacks = (stored: number, all: readonly unknown[], fresh: readonly unknown[]): boolean =>
  stored > all.length - fresh.length

function compareSpans({ spanHashes, spanCount }: CopiedState, { spans }: RestoredHead, fresh: readonly SpanHead[]) {
  const other = spans.find(span => !isStoredAs(spanHashes.get(span.id) ?? shortHash(span), span))
  return {
    what: 'spans',
    ahead: fresh.length > 0,
    behind: lacks(spanCount, spans, fresh),
    contradiction: other && `span ${other.id} is stored with different content`
  }
}

/** Returns the indexes of the scores that are not stored yet. */
function newScores({ scores }: CopyState, { past }: RestoredHead): number[] {
  const stored = new Set(scores.map(({ id }) => id))
  return past.scores.flatMap(({ id }, i) => (stored.has(id) ? [] : [i]))
}

function compareScores(copy: CopyState, { past }: RestoredHead, fresh: readonly number[]): Comparison {
  const stored = new Map(copy.scores.map(score => [score.id, textOf(score)]))
  const other = past.scores.find(score => (stored.get(score.id) ?? textOf(score)) !== textOf(score))
  return {
    what: 'scores',
    ahead: fresh.length > 0,
    behind: lacks(copy.scores.length, past.scores, fresh),
    contradiction: other && `score ${other.id} is stored with different content`
  }
}

const textOf = ({ spanId, name, dataType, value, comment, source, evaluatorId, runId, createdAt }: PastScore): string =>
  JSON.stringify([spanId, name, dataType, value, comment, source, evaluatorId, runId, createdAt])

function compareEnds(state: CopiedState, line: RestoredHead): Comparison {
  const { running, copy } = state
  const goesOn = line.endedAt === null
  const isOther = !running && !goesOn && !isSameEnd(state, line, copy)
  return {
    what: 'the end',
    ahead: running && !goesOn,
    behind: !running && goesOn,
    contradiction: isOther ? 'its end is stored with different content' : undefined
  }
}

/** Whether both states have the same end. A line that was not written by an export may lack the end's hash. */
function isSameEnd({ endHash }: CopiedState, { endedAt, status, past }: RestoredHead, copy: CopyState): boolean {
  if (endHash !== null && past.endHash !== null) return endHash === past.endHash
  return copy.endedAt === endedAt && copy.status === status
}

/**
 * Compares the times of both states' last patches. Each patch that changes something is later than the previous patch.
 */
function comparePatches({ metadataUpdatedAt: stored }: CopyState, { past }: RestoredHead): Comparison {
  const { metadataUpdatedAt: other } = past
  return { what: 'the last patch', ahead: isLater(other, stored), behind: isLater(stored, other) }
}

const isLater = (time: string | null, other: string | null): boolean =>
  time !== null && (other === null || isBefore(other, time))

/**
 * Compares a gathered trace's stored fields with the line's fields. Each ranked field comes from the best-ranked span
 * so far. Other fields only grow.
 */
function compareGathered(state: CopiedState, line: RestoredHead, stored: Ranks, sent: Ranks): Comparison[] {
  // Versions up to 1.0.0-rc.1 kept response ids in the ranks. Response ids are now in the spans' call details.
  const fields = new Set([...Object.keys(stored), ...Object.keys(sent)].filter(name => !isResponse(name)))
  const isAhead = (rank: Rank | undefined, other: Rank | undefined) => rank !== undefined && isBetter(rank, other)
  const ranks = [...fields].map(field => ({
    what: 'fields',
    ahead: isAhead(sent[field], stored[field]),
    behind: isAhead(stored[field], sent[field])
  }))
  // Versions up to 1.0.0-rc.1 wrote no END rank and took the trace's start from the root, which may start later than
  // other spans.
  const isFormer = [stored, sent].some(all => all.times !== undefined && all[END] === undefined)
  const start = {
    what: 'an earlier start',
    ahead: !isFormer && isBefore(line.startedAt, state.startedAt),
    behind: !isFormer && isBefore(state.startedAt, line.startedAt)
  }
  return [...ranks, start, compareTags(state.tags, line.tags)]
}

/**
 * Compares the stored tags with the line's tags. A trace at the tag limit keeps only some of its tags, so a missing tag
 * then proves nothing.
 */
function compareTags(stored: readonly string[], sent: readonly string[]): Comparison {
  const ahead = sent.some(tag => !stored.includes(tag))
  const behind = stored.some(tag => !sent.includes(tag))
  const isFull = stored.length === MAX_TAGS && sent.length === MAX_TAGS
  return {
    what: 'tags',
    ahead: ahead && !behind,
    behind: behind && !ahead,
    contradiction: ahead && behind && !isFull ? 'its tags are stored with different content' : undefined
  }
}

/** A field of a line, compared because someone may have edited the line without updating its hashes. */
interface Content {
  readonly name: string
  isSame(state: CopiedState, line: RestoredHead): boolean
}

const same = (name: Exclude<keyof CopiedState & keyof RestoredHead, 'metadata' | 'tags' | 'spans'>): Content => ({
  name,
  isSame: (state, line) => state[name] === line[name]
})
const sameInCopy = (name: 'status' | 'endedAt' | 'sessionId'): Content => ({
  name,
  isSame: ({ copy }, line) => copy[name] === line[name]
})
const sameJson = (name: 'input' | 'output'): Content => ({
  name,
  isSame: ({ copy }, line) => isSameJson(copy[name], line[name], 'null')
})

/** Fields of a native trace that its start sets permanently. The end may set the fields in OF_END. */
const OF_START = [same('name'), same('startedAt'), sameInCopy('sessionId'), same('userId'), sameJson('input')]
const OF_END: readonly Content[] = [
  sameInCopy('status'),
  sameInCopy('endedAt'),
  same('provider'),
  same('model'),
  same('costUsd'),
  // Usage is compared as shown in responses, because a line built from a response does not distinguish 0 from a count
  // that was not sent.
  { name: 'usage', isSame: (state, line) => shownUsage(state) === shownUsage(line) },
  { name: 'tags', isSame: (state, line) => JSON.stringify(state.tags) === JSON.stringify(line.tags) },
  sameJson('output')
]

function shownUsage({ inputTokens, outputTokens, totalTokens }: UsageFields): string {
  const [input, output] = [inputTokens ?? 0, outputTokens ?? 0]
  return [input, output, totalTokens ?? Math.min(input + output, Number.MAX_SAFE_INTEGER)].join()
}

const OF_NATIVE = [...OF_START, ...OF_END]
/** Fields of a gathered trace that any span may change. Excludes tags, because compareTags handles tags. */
const OF_GATHERED = OF_NATIVE.filter(({ name }) => name !== 'tags')

/**
 * Returns the fields to compare, without a cost computed from prices, because prices may have changed since the export.
 */
function gatheredContent({ copy }: CopiedState, { past }: RestoredHead): readonly Content[] {
  const isComputed = copy.hasComputedCosts || past.hasComputedCosts === true
  return isComputed ? OF_GATHERED.filter(({ name }) => name !== 'costUsd') : OF_GATHERED
}

/** Compares fields that must be equal in both states. */
function compareContent(state: CopiedState, line: RestoredHead, fields: readonly Content[]): Comparison {
  const other = fields.find(each => !each.isSame(state, line))
  return {
    what: 'fields',
    contradiction: other && `its ${other.name} ${other.name === 'tags' ? 'are' : 'is'} stored with different content`
  }
}

/**
 * Compares both states' metadata, which must be equal unless one of `causes`, such as a patch, explains a difference.
 */
function compareMetadata(state: CopiedState, line: RestoredHead, causes: readonly Comparison[]): Comparison {
  const isOther = !isMoved(causes) && !isSameJson(state.metadata, line.metadata, '{}')
  return {
    what: 'metadata',
    contradiction: isOther ? 'its metadata is stored with different values' : undefined
  }
}

/** Compares two JSON texts by value. `none` is the JSON text that null represents. */
const isSameJson = (one: string | null, other: string | null, none: string): boolean =>
  one === other || canonicalise(parseExact(one ?? none)) === canonicalise(parseExact(other ?? none))

function advanceOf(
  state: CopiedState,
  line: RestoredHead,
  spans: readonly SpanHead[],
  scores: readonly number[],
  setsFields: boolean
): Advance {
  const { past, spans: all, hash, bytes, input, output, operation: _, ...fields } = line
  const estimatedBytes = past.estimatedBytes ?? bytes + countBytes(all)
  return {
    ...fields,
    spanCount: all.length,
    errorCount: line.errorCount ?? countErrors(all),
    isRun: isRun(line, spans),
    documentBytes: bytes,
    estimatedBytes,
    addedBytes: estimatedBytes - state.estimatedBytes,
    durationMs: line.endedAt === null ? null : durationMs(line.startedAt, line.endedAt),
    input: setsFields ? input : undefined,
    output: setsFields ? output : undefined,
    bodyHash: hash,
    endHash: past.endHash,
    metadataUpdatedAt: past.metadataUpdatedAt,
    scoreCount: past.scores.length,
    spans,
    scores
  }
}
