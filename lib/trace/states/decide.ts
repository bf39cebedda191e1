/**
 * The state machine of specification 3.1: decides what an operation does to a trace in a given state. A trace is
 * absent, running or complete. It is pure: it knows neither SQL nor HTTP. Every row of the specification's table is a
 * branch below.
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
  type UsageFields
} from '../prepared.ts'
import { countBytes, countErrors } from '../span-sums.ts'
import { durationMs, isBefore } from '../timestamp.ts'
import { decideExport, type ExportOperation } from './decide-export.ts'
import { type Advance, type CopyState, decideRestore, type RestoredHead } from './decide-restore.ts'
import { type GatheredSpan, type GatheredState, type Growth, gather } from './gathered.ts'
import type { IdleOperation } from './idle.ts'
import type { SpanRefusal } from './span-refusals.ts'

/** The state of a stored trace before an operation on it is decided. */
export interface TraceState extends UsageFields {
  readonly seq: number
  /** Every change gives the trace a new version. A decision holds only for the version that it was made on. */
  readonly version: number
  readonly running: boolean
  readonly bodyHash: string
  readonly endHash: string | null
  /** A label, 'unassigned', or null if it was never recorded. */
  readonly environment: string | null
  readonly name: string
  readonly userId: string | null
  readonly startedAt: string
  readonly provider: string | null
  readonly model: string | null
  readonly costUsd: number | null
  readonly tags: readonly string[]
  readonly spanCount: number
  readonly errorCount: number
  readonly documentBytes: number
  readonly estimatedBytes: number
  /** JSON text; null for {}. Known only if an end may merge into it. */
  readonly metadata: string | null
  /** UTF-8 bytes of the stored output (4 for null). */
  readonly outputBytes: number
  /** The hashes of spans of the operation that are stored already, by span id. */
  readonly spanHashes: ReadonlyMap<string, string>
  /** Whether OpenTelemetry recorded the trace. Then no other route can add to it or end it. */
  readonly isGathered: boolean
  /** Only exports read this part. */
  readonly gathered: GatheredState | undefined
  /** Only restored lines are compared with this part. */
  readonly copy: CopyState | undefined
}

/** The part of a `record` that a decision reads. */
export interface RecordOperation {
  readonly operation: 'record'
  readonly traceId: string
  readonly hash: string
  readonly formerHash?: string | undefined
  /** Why one of its documents cannot be stored; undefined if all can. */
  readonly oversize: string | undefined
  /** Set if the trace is restored and not recorded. */
  readonly restored?: RestoredHead | undefined
}

/** The parts of an append and of an end that a decision reads. */
export type Append = HeadsOf<PreparedAppend>
export type End = HeadsOf<PreparedEnd>
type HeadsOf<T> = Omit<T, 'spans'> & { readonly spans: readonly SpanHead[] }

/** An operation on one trace, prepared. */
export type DecidedOperation = RecordOperation | (Append & ByKey) | (End & ByKey) | ExportOperation | IdleOperation
/** Facts that an append or an end gets from its key, not from its body. */
export interface ByKey {
  /** The environment label of the key; null: unassigned. */
  readonly environment: string | null
}

/** The change of a stored trace: the spans that are added, the new sums, and what an end sets besides. */
export interface TraceChange {
  readonly spanCount: number
  readonly errorCount: number
  readonly estimatedBytes: number
  /** The growth of estimatedBytes. */
  readonly addedBytes: number
  /** Spans to insert: those of the operation that are not stored yet. */
  readonly spans: readonly SpanHead[]
  /** Undefined if the trace goes on. */
  readonly ending: Ending | undefined
}

/** The fields that an end sets. Each is the whole new value; JSON that is undefined keeps its stored value. */
export interface Ending extends UsageFields {
  readonly status: string
  readonly endedAt: string
  readonly durationMs: number | null
  readonly provider: string | null
  readonly model: string | null
  readonly costUsd: number | null
  readonly tags: readonly string[]
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

/** An export adds spans to a stored trace, or it is complete since none came. */
interface GrowDecision {
  readonly type: 'grow'
  readonly growth: Growth
  readonly added: readonly GatheredSpan[]
  readonly refusals: readonly SpanRefusal[]
}

/** There is nothing to write. */
interface DuplicateDecision {
  readonly type: 'duplicate'
  readonly spanCount: number
  readonly duplicate: number
  /** Spans of an export that are not stored. */
  readonly refusals?: readonly SpanRefusal[]
}

const refused = (code: ErrorCode, message: string): Decision => ({ type: 'refused', code, message })

const tooLarge = (what: string, bytes: number): string =>
  `${what} has ${bytes} bytes, and at most ${MAX_DOCUMENT_BYTES} can be stored`

function oversizeSpan(spans: readonly SpanHead[]): string | undefined {
  const span = spans.find(span => span.bytes > MAX_DOCUMENT_BYTES)
  return span && tooLarge(`the document of span ${span.id}`, span.bytes)
}

/** Why a document of a trace to record cannot be stored. */
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
  return refused('trace_id_conflict', `trace ${trace.traceId} exists with different content`)
}

/** Whether a body that was stored with this hash is this one. */
const isHashOf = (stored: string | null, { hash, formerHash }: Pick<PreparedEnd, 'hash' | 'formerHash'>): boolean =>
  stored === hash || (formerHash !== undefined && stored === formerHash)

const alreadyThere = ({ spanCount }: TraceState): Decision => ({ type: 'duplicate', spanCount, duplicate: 0 })

function decideLine(state: TraceState, { oversize }: RecordOperation, line: RestoredHead): Decision {
  const { copy } = state
  if (copy === undefined) throw new Error('a line is decided on what was read for it')
  const decision = decideRestore({ ...state, copy }, line)
  if (decision.type === 'known') return alreadyThere(state)
  if (decision.type === 'contradiction') return refused('trace_id_conflict', decision.reason)
  return oversize === undefined ? decision : refused('payload_too_large', oversize)
}

/**
 * The spans that are not stored yet, each once; or the id of a span that is stored, or sent, with different content.
 */
function sortSpans(state: TraceState, spans: readonly SpanHead[]) {
  const fresh = new Map<string, SpanHead>()
  for (const span of spans) {
    const other = fresh.get(span.id)
    const known = state.spanHashes.get(span.id) ?? (other && shortHash(other))
    if (known === undefined) fresh.set(span.id, span)
    else if (!isStoredAs(known, span)) return { conflict: span.id, fresh: [] }
  }
  return { conflict: undefined, fresh: [...fresh.values()] }
}

/** Refuses an append or an end by a key of another environment. This check comes before those for conflicts. */
function refuseKey(state: TraceState, environment: string | null): Decision | undefined {
  // A trace whose environment was never recorded counts as unassigned.
  const recorded = state.environment ?? 'unassigned'
  if (recorded === (environment ?? 'unassigned')) return undefined
  return refused('forbidden', 'the trace was recorded in another environment than the one of this key')
}

/**
 * Refuses an append to a trace that OpenTelemetry records, or its end: a trace stays with the route that it began on.
 */
function refuseGathered({ isGathered, running }: TraceState): Decision | undefined {
  if (!isGathered) return undefined
  return running
    ? refused('trace_id_conflict', 'the trace is recorded by OpenTelemetry; it takes spans only from there')
    : refused('trace_finished', 'the trace was recorded by OpenTelemetry and has ended; it takes spans only from there')
}

/** Refuses an append to, or another end of, a complete trace. A trace that was recorded whole has no end body. */
const finished = ({ endHash }: TraceState, ended: string): Decision =>
  refused(
    'trace_finished',
    endHash === null ? 'the trace was recorded whole: it takes neither spans nor an end' : ended
  )

const spanConflict = (id: string) =>
  refused('span_conflict', `span ${id} exists with different content; nothing was written`)

function tooManySpans(state: TraceState, fresh: readonly SpanHead[]): Decision | undefined {
  const total = state.spanCount + fresh.length
  if (total <= MAX_SPANS) return undefined
  return refused('invalid_trace', `spans: the trace would have ${total} spans, and at most ${MAX_SPANS} are allowed`)
}

/** The change that adds these spans. `documentBytes` is how much the trace's own document grows. */
function additionOf(state: TraceState, fresh: readonly SpanHead[], documentBytes: number): TraceChange {
  const addedBytes = documentBytes + countBytes(fresh)
  return {
    spanCount: state.spanCount + fresh.length,
    errorCount: state.errorCount + countErrors(fresh),
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
  const { conflict, fresh } = sortSpans(state, append.spans)
  if (conflict !== undefined) return spanConflict(conflict)
  const limit = tooManySpans(state, fresh)
  if (limit) return limit
  const large = oversizeSpan(fresh)
  if (large !== undefined) return refused('payload_too_large', large)

  const duplicate = append.spans.length - fresh.length
  if (fresh.length === 0) return { type: 'duplicate', spanCount: state.spanCount, duplicate }
  const change = additionOf(state, fresh, 0)
  return { type: 'change', change, added: fresh.length, duplicate }
}

const json = (value: string | number | null): string | undefined => (value === null ? undefined : JSON.stringify(value))
const bytesOf = (text: string | null | undefined): number => (text == null ? 0 : Buffer.byteLength(text))

/** By how many bytes a document grows when one of its members changes. */
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
  const { conflict, fresh } = sortSpans(state, end.spans)
  if (conflict !== undefined) return spanConflict(conflict)
  const limit = tooManySpans(state, fresh)
  if (limit) return limit
  const tags = [...new Set([...state.tags, ...end.tags])]
  if (tags.length > MAX_TAGS) {
    return refused(
      'invalid_trace',
      `tags: the trace would have ${tags.length} tags, and at most ${MAX_TAGS} are allowed`
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
  const change = { ...additionOf(state, fresh, documentBytes - state.documentBytes), ending }
  return { type: 'change', change, added: fresh.length, duplicate: end.spans.length - fresh.length }
}

function decideSpans(state: TraceState | undefined, operation: ExportOperation): Decision {
  // The trace that these spans make has been prepared with them (lib/threads/ready.ts).
  if (state === undefined) return { type: 'insert' }
  const { growth, added, duplicate, refusals } = decideExport(state, operation)
  if (growth === undefined) return { type: 'duplicate', spanCount: state.spanCount, duplicate, refusals }
  return { type: 'grow', growth, added, refusals }
}

/** A trace that has changed since, or is gone, is left as it is. */
function decideIdle(state: TraceState | undefined, { traceId, version, end }: IdleOperation): Decision {
  if (state?.gathered === undefined || !state.running || state.version !== version) {
    return { type: 'duplicate', spanCount: state?.spanCount ?? 0, duplicate: 0 }
  }
  return { type: 'grow', growth: gather(traceId, state.gathered, [], [], end), added: [], refusals: [] }
}

/** Decides an operation on a trace. `state` is undefined if the project has no trace of that id. */
export function decide(state: TraceState | undefined, operation: DecidedOperation): Decision {
  if (operation.operation === 'record') return decideRecord(state, operation)
  if (operation.operation === 'export') return decideSpans(state, operation)
  if (operation.operation === 'idle') return decideIdle(state, operation)
  if (state === undefined) return refused('not_found', 'there is no trace with this id in the project of the key')
  return operation.operation === 'append' ? decideAppend(state, operation) : decideEnd(state, operation)
}
