/**
 * Implements the state machine of specification 3.1: decides how an operation changes an absent, running or complete
 * trace. The functions are pure and know neither SQL nor HTTP. Each row of the specification's table is a branch below.
 */
import type { ErrorCode } from '../../errors.ts'
import { MAX_DOCUMENT_BYTES, MAX_SPANS, MAX_TAGS } from '../../schema/input.ts'
import { memberBytes, usageDocument } from '../document.ts'
import { mergedMetadata } from '../metadata.ts'
import {
  isStoredAs,
  type PreparedAppend,
  type PreparedEnd,
  type PreparedTrace,
  type SpanHead,
  shortHash,
  type TraceFields,
  type UsageFields
} from '../prepared.ts'
import { haveRunKind, isRun } from '../runs.ts'
import { countBytes, countErrors } from '../span-sums.ts'
import { durationMs, isBefore } from '../timestamp.ts'
import { decideExport, type ExportDecision, type ExportOperation } from './decide-export.ts'
import { type Advance, type CopyState, decideRestore, type RestoredHead } from './decide-restore.ts'
import { type GatheredState, type Growth, gather } from './gathered.ts'
import type { IdleOperation } from './idle.ts'
import type { SpanRefusal } from './span-refusals.ts'

/** A stored trace's state before an operation. */
export interface TraceState extends Omit<TraceFields, 'status' | 'endedAt' | 'sessionId'> {
  readonly seq: number
  /**
   * Every change gives the trace a new version. A decision is valid only for the version on which the decision is
   * based.
   */
  readonly version: number
  readonly running: boolean
  readonly bodyHash: string
  readonly endHash: string | null
  /** The trace's environment: a label, `unassigned`, or null if it was never recorded. */
  readonly environment: string | null
  readonly spanCount: number
  readonly errorCount: number
  readonly documentBytes: number
  readonly estimatedBytes: number
  /** The metadata as JSON text; null for {}. Read only if an end may merge metadata. */
  readonly metadata: string | null
  /** Number of UTF-8 bytes in the stored output (4 for null). */
  readonly outputBytes: number
  /** Hashes, by span id, of the operation's spans that are already stored. */
  readonly spanHashes: ReadonlyMap<string, string>
  /** Whether OpenTelemetry recorded the trace. If so, no other route can extend or end the trace. */
  readonly isGathered: boolean
  /** The gathered state, read only to decide exports. */
  readonly gathered: GatheredState | undefined
  /** The state to compare with a line, read only to decide restores. */
  readonly copy: CopyState | undefined
}

/** The part of a `record` operation that is read to decide the operation. */
export interface RecordOperation {
  readonly operation: 'record'
  readonly traceId: string
  readonly hash: string
  readonly formerHash?: string | undefined
  /** Why one of the documents cannot be stored; undefined if all documents can be stored. */
  readonly oversize: string | undefined
  /** The line to restore; undefined if the trace is recorded. */
  readonly restored?: RestoredHead | undefined
}

/** The parts of an append or an end that are read to decide the operation. */
export type Append = HeadsOf<PreparedAppend>
export type End = HeadsOf<PreparedEnd>
type HeadsOf<T> = Omit<T, 'spans'> & { readonly spans: readonly SpanHead[] }

export type DecidedOperation = RecordOperation | (Append & ByKey) | (End & ByKey) | ExportOperation | IdleOperation
/** Facts about an append or end that come from its key rather than its body. */
export interface ByKey {
  /** The key's environment label; null means unassigned. */
  readonly environment: string | null
}

/** A change to a stored trace: added spans, new sums, and the fields that an end sets. */
export interface TraceChange {
  readonly spanCount: number
  readonly errorCount: number
  /** Whether what the change adds makes the trace a run (lib/trace/runs.ts). If false, the stored value is kept. */
  readonly isRun: boolean
  readonly estimatedBytes: number
  /** Increase in estimatedBytes. */
  readonly addedBytes: number
  /** Spans to insert: the operation's spans that are not stored yet. */
  readonly spans: readonly SpanHead[]
  /** The trace's end; undefined if the trace keeps running. */
  readonly ending: Ending | undefined
}

/** The fields that an end sets, as complete new values. Undefined output or metadata keeps its stored value. */
export interface Ending
  extends Pick<TraceFields, 'status' | 'provider' | 'model' | 'costUsd' | 'tags' | keyof UsageFields> {
  readonly endedAt: string
  readonly durationMs: number | null
  readonly endHash: string
  readonly documentBytes: number
  readonly output: string | null | undefined
  readonly metadata: string | null | undefined
}

export type Decision =
  | { readonly type: 'insert' }
  | { readonly type: 'change'; readonly change: TraceChange; readonly added: number; readonly duplicate: number }
  | GrowDecision
  | { readonly type: 'advance'; readonly advance: Advance }
  | DuplicateDecision
  | { readonly type: 'refused'; readonly code: ErrorCode; readonly message: string }

/** A change in which an export adds spans to a stored trace, or an idle trace is completed. */
interface GrowDecision extends Pick<ExportDecision, 'added' | 'removed' | 'cut' | 'refusals'> {
  readonly type: 'grow'
  readonly growth: Growth
}

/** The decision that there is nothing to write. */
interface DuplicateDecision {
  readonly type: 'duplicate'
  readonly spanCount: number
  readonly duplicate: number
  /** Spans of an export that are rejected or left out. */
  readonly refusals?: readonly SpanRefusal[]
}

const refused = (code: ErrorCode, message: string): Decision => ({ type: 'refused', code, message })

const tooLarge = (what: string, bytes: number): string =>
  `${what} has ${bytes} bytes, but at most ${MAX_DOCUMENT_BYTES} can be stored`

function oversizeSpan(spans: readonly Pick<SpanHead, 'id' | 'bytes'>[]): string | undefined {
  const span = spans.find(span => span.bytes > MAX_DOCUMENT_BYTES)
  return span && tooLarge(`the document of span ${span.id}`, span.bytes)
}

/** Returns why a document of a new trace cannot be stored, or undefined if all documents can be stored. */
export function oversizeMessage(trace: Pick<PreparedTrace, 'bytes' | 'spans'>): string | undefined {
  if (trace.bytes > MAX_DOCUMENT_BYTES) return tooLarge('the trace document', trace.bytes)
  return oversizeSpan(trace.spans)
}

function decideRecord(state: TraceState | undefined, trace: RecordOperation): Decision {
  if (state === undefined) {
    return trace.oversize === undefined ? { type: 'insert' } : refused('payload_too_large', trace.oversize)
  }
  if (trace.restored !== undefined) return decideLine(state, trace, trace.restored)
  if (isHashOf(state.bodyHash, trace) && !state.isGathered) return alreadyThere(state)
  return refused('trace_id_conflict', `trace ${trace.traceId} already exists with different content`)
}

/** Whether a stored hash is the hash of this body. */
const isHashOf = (stored: string | null, { hash, formerHash }: Pick<PreparedEnd, 'hash' | 'formerHash'>): boolean =>
  stored === hash || (formerHash !== undefined && stored === formerHash)

const alreadyThere = ({ spanCount }: TraceState): Decision => ({ type: 'duplicate', spanCount, duplicate: 0 })

function decideLine(state: TraceState, { oversize }: RecordOperation, line: RestoredHead): Decision {
  const { copy } = state
  if (copy === undefined) throw new Error('the state to compare with a line was not read')
  const decision = decideRestore({ ...state, copy }, line)
  if (decision.type === 'known') return alreadyThere(state)
  if (decision.type === 'contradiction') return refused('trace_id_conflict', decision.reason)
  return oversize === undefined ? decision : refused('payload_too_large', oversize)
}

/** Returns the new spans, each once, or why the trace does not accept the spans. */
function sortSpans(state: TraceState, spans: readonly SpanHead[]): { refusal: Decision } | { fresh: SpanHead[] } {
  const fresh = new Map<string, SpanHead>()
  for (const span of spans) {
    const other = fresh.get(span.id)
    const known = state.spanHashes.get(span.id) ?? (other && shortHash(other))
    if (known === undefined) fresh.set(span.id, span)
    else if (!isStoredAs(known, span)) {
      const message = `span ${span.id} already exists with different content; nothing was written`
      return { refusal: refused('span_conflict', message) }
    }
  }
  const total = state.spanCount + fresh.size
  if (total <= MAX_SPANS) return { fresh: [...fresh.values()] }
  const rule = `the trace would have ${total} spans, but at most ${MAX_SPANS} are allowed`
  return { refusal: refused('invalid_trace', `spans: ${rule}`) }
}

/** Rejects an append or end whose key belongs to another environment. Must run before the checks for conflicts. */
function refuseKey(state: TraceState, environment: string | null): Decision | undefined {
  // A trace whose environment was never recorded counts as unassigned.
  const recorded = state.environment ?? 'unassigned'
  if (recorded === (environment ?? 'unassigned')) return undefined
  return refused('forbidden', "the trace was recorded in a different environment than this key's")
}

/** Rejects an append or an end for an OpenTelemetry trace. A trace stays with the route that started it. */
function refuseGathered({ isGathered, running }: TraceState): Decision | undefined {
  if (!isGathered) return undefined
  return running
    ? refused(
        'trace_id_conflict',
        'the trace is being recorded by OpenTelemetry and accepts spans only from OpenTelemetry'
      )
    : refused(
        'trace_finished',
        'the trace was recorded by OpenTelemetry and has ended; it accepts spans only from OpenTelemetry'
      )
}

/** Rejects an append or another end for a complete trace. A trace that was recorded whole has no end body. */
const finished = ({ endHash }: TraceState, ended: string): Decision =>
  refused(
    'trace_finished',
    endHash === null ? 'the trace was recorded complete, so it cannot be extended or ended' : ended
  )

/** Builds the change that adds these spans. The trace's own document grows by `documentBytes`. */
function additionOf(state: TraceState, fresh: readonly SpanHead[], documentBytes: number): TraceChange {
  const addedBytes = documentBytes + countBytes(fresh)
  return {
    spanCount: state.spanCount + fresh.length,
    errorCount: state.errorCount + countErrors(fresh),
    isRun: haveRunKind(fresh),
    estimatedBytes: state.estimatedBytes + addedBytes,
    addedBytes,
    spans: fresh,
    ending: undefined
  }
}

function decideAppend(state: TraceState, append: Append & ByKey): Decision {
  const closed = refuseKey(state, append.environment) ?? refuseGathered(state)
  if (closed) return closed
  if (!state.running) return finished(state, 'the trace has already ended')
  const sorted = sortSpans(state, append.spans)
  if ('refusal' in sorted) return sorted.refusal
  const { fresh } = sorted
  const large = oversizeSpan(fresh)
  if (large !== undefined) return refused('payload_too_large', large)

  const duplicate = append.spans.length - fresh.length
  if (fresh.length === 0) return { type: 'duplicate', spanCount: state.spanCount, duplicate }
  const change = additionOf(state, fresh, 0)
  return { type: 'change', change, added: fresh.length, duplicate }
}

const json = (value: string | number | null): string | undefined => (value === null ? undefined : JSON.stringify(value))
const bytesOf = (text: string | null | undefined): number => (text == null ? 0 : Buffer.byteLength(text))

/** Returns the number of bytes by which a document grows when a member changes. */
const growthOf = (key: string, before: string | number | null, after: string | number | null): number =>
  before === after ? 0 : memberBytes(key, json(after)) - memberBytes(key, json(before))

function decideEnd(state: TraceState, end: End & ByKey): Decision {
  const closed = refuseKey(state, end.environment) ?? refuseGathered(state)
  if (closed) return closed
  if (!state.running) {
    if (isHashOf(state.endHash, end))
      return { type: 'duplicate', spanCount: state.spanCount, duplicate: end.spans.length }
    return finished(state, 'the trace has already ended, with a different body')
  }
  const sorted = sortSpans(state, end.spans)
  if ('refusal' in sorted) return sorted.refusal
  const { fresh } = sorted
  const tags = [...new Set([...state.tags, ...end.tags])]
  if (tags.length > MAX_TAGS) {
    return refused(
      'invalid_trace',
      `tags: the trace would have ${tags.length} tags, but at most ${MAX_TAGS} are allowed`
    )
  }
  if (isBefore(end.endedAt, state.startedAt)) {
    return refused('invalid_trace', 'endedAt: must not be before the startedAt of the trace')
  }

  const after = {
    provider: end.provider ?? state.provider,
    model: end.model ?? state.model,
    costUsd: end.costUsd ?? state.costUsd,
    ...(end.usage ?? {
      inputTokens: state.inputTokens,
      outputTokens: state.outputTokens,
      totalTokens: state.totalTokens
    })
  }
  const metadata = end.metadata === undefined ? undefined : mergedMetadata(state.metadata, end.metadata)
  const output = end.output === undefined ? state.outputBytes : end.output === null ? 4 : bytesOf(end.output)
  const documentBytes =
    state.documentBytes +
    memberBytes('endedAt', json(end.endedAt)) +
    memberBytes('status', json(end.status)) +
    growthOf('provider', state.provider, after.provider) +
    growthOf('model', state.model, after.model) +
    growthOf('costUsd', state.costUsd, after.costUsd) +
    Buffer.byteLength(usageDocument(after)) -
    Buffer.byteLength(usageDocument(state)) +
    (tags.length === state.tags.length ? 0 : bytesOf(JSON.stringify(tags)) - bytesOf(JSON.stringify(state.tags))) +
    output -
    state.outputBytes +
    (metadata === undefined ? 0 : bytesOf(metadata ?? '{}') - bytesOf(state.metadata ?? '{}'))
  if (documentBytes > MAX_DOCUMENT_BYTES) {
    return refused('payload_too_large', tooLarge('the finished trace document', documentBytes))
  }
  const large = oversizeSpan(fresh)
  if (large !== undefined) return refused('payload_too_large', large)

  const ending: Ending = {
    status: end.status,
    endedAt: end.endedAt,
    durationMs: durationMs(state.startedAt, end.endedAt),
    tags,
    endHash: end.hash,
    documentBytes,
    output: end.output,
    metadata,
    ...after
  }
  const addition = additionOf(state, fresh, documentBytes - state.documentBytes)
  const change = { ...addition, isRun: isRun(ending, fresh), ending }
  return { type: 'change', change, added: fresh.length, duplicate: end.spans.length - fresh.length }
}

function decideSpans(state: TraceState | undefined, operation: ExportOperation): Decision {
  // The new trace was prepared together with these spans (lib/threads/ready.ts).
  if (state === undefined) return { type: 'insert' }
  const { growth, added, removed, cut, duplicate, refusals } = decideExport(state, operation)
  if (growth === undefined) return { type: 'duplicate', spanCount: state.spanCount, duplicate, refusals }
  return { type: 'grow', growth, added, removed, cut, refusals }
}

/** Ends an idle trace. Changes nothing if the trace has changed since its end was computed, or no longer exists. */
function decideIdle(state: TraceState | undefined, { traceId, version, end }: IdleOperation): Decision {
  if (state?.gathered === undefined || !state.running || state.version !== version) {
    return { type: 'duplicate', spanCount: state?.spanCount ?? 0, duplicate: 0 }
  }
  const growth = gather(traceId, state.gathered, [], [], end)
  return { type: 'grow', growth, added: [], removed: [], cut: new Set(), refusals: [] }
}

/** Decides an operation on a trace. `state` is undefined if the project has no trace with this id. */
export function decide(state: TraceState | undefined, operation: DecidedOperation): Decision {
  if (operation.operation === 'record') return decideRecord(state, operation)
  if (operation.operation === 'export') return decideSpans(state, operation)
  if (operation.operation === 'idle') return decideIdle(state, operation)
  if (state === undefined) return refused('not_found', "this key's project has no trace with this id")
  return operation.operation === 'append' ? decideAppend(state, operation) : decideEnd(state, operation)
}
