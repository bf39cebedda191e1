/** An operation on its way through a writer, and what can be said of it from what is known so far. */

import { pickRows } from '../rows/copy-rows.ts'
import type { TrialCharge } from '../store/write/batch.ts'
import type { CopyRows, SpanRows } from '../store/write/copy-batch.ts'
import type { Look } from '../store/write/trace-state.ts'
import type { ReadyAppend, ReadyEnd, ReadyRecord, ReadySpans } from '../threads/ready.ts'
import type { ByKey, Decision, TraceChange, TraceState } from '../trace/decide.ts'
import type { Queued } from './queue.ts'

/** An operation under way. */
export interface Pending extends Queued {
  readonly projectId: number
  readonly traceId: string
  /** Stamped on recorded traces. */
  readonly keyId: string | null
  readonly environment: string | null
  readonly operation: ReadyRecord | (ReadyAppend & ByKey) | (ReadyEnd & ByKey) | (ReadySpans & ByKey)
  /** What it was made of. */
  readonly body: Uint8Array
  /** Set where a new trace is charged to a trial account; such an operation is a batch by itself. */
  readonly charge: TrialCharge | undefined
  /** The state must be read before deciding. */
  look: boolean
  /** Numbers of attempts that may have taken, and what was decided for the last of them. */
  attempts: number[]
  decision: Decision | undefined
  /** How often it was sent back in line. */
  tries: number
  /** When the connection went away during it, in ms of performance.now(). */
  lostSince: number | undefined
  /** Answered, by resolve or reject. */
  settled: boolean
  resolve(decision: Decision): void
  reject(error: unknown): void
}

/** What is decided for an operation. */
export interface Decided {
  readonly pending: Pending
  readonly state: TraceState | undefined
  readonly decision: Decision
}

export const INSERT: Decision = { type: 'insert' }
/** Decisions of which there is something to write. */
export const WRITTEN: readonly Decision['type'][] = ['insert', 'change', 'grow']

export type Copied = ReadyRecord & { readonly copy: CopyRows }

/** The trace that an operation makes where there is none yet. */
export function recordOf({ operation }: Pending): ReadyRecord | undefined {
  if (operation.operation === 'export') return operation.first
  return operation.operation === 'record' ? operation : undefined
}

export const isChange = (operation: Pending['operation']): operation is (ReadyAppend | ReadyEnd) & ByKey =>
  operation.operation === 'append' || operation.operation === 'end'

/** The rows that COPY takes of an operation's spans, or of the trace that it makes. */
const copyOf = (pending: Pending): SpanRows | undefined =>
  isChange(pending.operation) ? pending.operation.copy : recordOf(pending)?.copy

/** The rows of those spans of a copyable append or end that are written. */
export function addedRows(pending: Pending, { spans }: TraceChange): SpanRows {
  const { operation } = pending
  const copy = copyOf(pending)
  if (!isChange(operation) || copy === undefined) throw new Error(`a ${operation.operation} cannot be copied`)
  if (spans.length === operation.spans.length) return copy
  return pickRows(copy, operation.spans, new Set(spans))
}

/** What is ready for COPY: an append, an end, or a new trace that nobody is charged for. */
export type Copyable = Decided & { readonly decision: Extract<Decision, { type: 'insert' | 'change' }> }

export function isCopyable(each: Decided): each is Copyable {
  const { pending, decision } = each
  const isOfKind = decision.type === 'change' || (decision.type === 'insert' && pending.charge === undefined)
  return isOfKind && copyOf(pending) !== undefined
}

/**
 * What could be copied, and is in a batch with what cannot, goes by the statement with it, which saves a commit. But to make
 * its text is to prepare it again, on this thread, which took 0.35 s where 2 MiB had many keys: more bytes than this are
 * copied, and where that fails, which of them can be is found out first.
 */
const MAX_TEXT_BYTES = 64 * 1024

/** Whether these are copied if they can be, whatever else is in their batch. */
export const isLarge = (decided: readonly Decided[]): boolean =>
  decided.reduce((sum, { pending }) => sum + pending.bytes, 0) > MAX_TEXT_BYTES

export function lookOf({ projectId, traceId, operation }: Pending): Look {
  const spanIds = operation.operation === 'record' ? [] : operation.spans.map(span => span.id)
  const { operation: name } = operation
  return { projectId, traceId, spanIds, detail: name === 'end' || name === 'export' ? name : 'none' }
}

/** Whether an earlier attempt left its number on the row: an insert as the row's own, a change as its version. */
export const isOurs = ({ attempts }: Pending, { seq, version }: TraceState): boolean =>
  attempts.includes(seq) || attempts.includes(version)

export function trialLimitReached({ limit }: TrialCharge): Decision {
  const message = `the trial account has recorded its ${limit} traces; nothing more can be recorded with it`
  return { type: 'refused', code: 'trial_limit_reached', message }
}

export function refusalMessage(pending: Pending): string {
  const unknown = pending.lostSince !== undefined && pending.attempts.length > 0
  return unknown
    ? 'the database went away during the write; send the same request again to learn its outcome'
    : 'the database refused the write; nothing was stored; retry later'
}
