/**
 * An operation on its way through a lane, and what follows from the operation itself without a look at the database.
 */
import type { TrialCharge } from '../store/write/charge.ts'
import type { Look } from '../store/write/trace-state.ts'
import type { ReadyAppend, ReadyEnd, ReadyRecord } from '../threads/ready.ts'
import type { ByKey, Decision, TraceState } from '../trace/states/decide.ts'
import type { IdleOperation } from '../trace/states/idle.ts'
import type { ExportWrite } from './exports/export-write.ts'
import type { Queued } from './queue.ts'

export type Operation = ReadyRecord | (ReadyAppend & ByKey) | (ReadyEnd & ByKey) | ExportWrite | IdleOperation

/** An operation under way. */
export interface Pending extends Queued {
  readonly projectId: number
  readonly traceId: string
  /** The key that sent the operation; it is stored with a new trace. Null if a command restores the trace. */
  readonly keyId: string | null
  /** The environment of that key; null if it has none. */
  readonly environment: string | null
  readonly operation: Operation
  /** Set if a new trace is charged to a trial account. Such an operation is a batch by itself. */
  readonly charge: TrialCharge | undefined
  /** Whether the stored state must be read before the decision. */
  look: boolean
  /** The numbers that the attempts so far put into the trace's row, if they were committed. */
  attempts: number[]
  /** The decision of the last of these attempts. */
  decision: Decision | undefined
  /** How often the operation was put back into the queue. */
  tries: number
  /** When the connection first broke during an attempt, in ms of performance.now(). */
  lostSince: number | undefined
  /** Whether the operation is answered, by resolve or reject. */
  settled: boolean
  resolve(decision: Decision): void
  reject(error: unknown): void
}

/** A decision that changes what is stored. */
export type Write = Extract<Decision, { type: 'insert' | 'change' | 'grow' | 'advance' }>

/** An operation with its decision, and the state that it was decided on. */
export interface Decided {
  readonly pending: Pending
  readonly state: TraceState | undefined
  readonly decision: Write
}

export const isWrite = (decision: Decision): decision is Write =>
  decision.type !== 'duplicate' && decision.type !== 'refused'

/**
 * The trace that an operation stores if the project has no trace of that id. Undefined for a change of a stored one.
 */
export function recordOf({ operation }: Pending): ReadyRecord | undefined {
  if (operation.operation === 'export') return operation.first
  return operation.operation === 'record' ? operation : undefined
}

/** The parts of a trace that a lane must read before it can decide this operation. */
export function lookOf({ projectId, traceId, operation }: Pending): Look {
  return { projectId, traceId, spanIds: spansOf(operation).map(span => span.id), detail: detailOf(operation) }
}

function spansOf(operation: Operation): readonly { readonly id: string }[] {
  if (operation.operation === 'idle') return []
  return operation.operation === 'record' ? (operation.restored?.spans ?? []) : operation.spans
}

function detailOf(operation: Operation): Look['detail'] {
  if (operation.operation === 'record') return operation.restored === undefined ? 'none' : 'restore'
  if (operation.operation === 'idle') return 'export'
  return operation.operation === 'append' ? 'none' : operation.operation
}

/**
 * Whether the stored state must be read before the first attempt. An append and an end change a stored trace, so their
 * state must be read. A new trace is inserted without a look, but for three cases:
 *
 * - It is too large. Then it is refused, unless it is stored already, which makes it a duplicate or a conflict.
 * - It is restored. An import may be run a second time, and would find all its traces stored.
 * - It comes from an export without the root span. Other spans of the trace have often come before.
 */
export function needsLook(operation: Operation): boolean {
  switch (operation.operation) {
    case 'record':
      return operation.restored !== undefined || operation.oversize !== undefined
    case 'export':
      return operation.first?.running === true
    default:
      return true
  }
}

/**
 * Whether an earlier attempt was committed. An insert leaves its number as the row's `seq`, a change as its `version`.
 */
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
