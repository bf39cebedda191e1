/**
 * Defines an operation on its way through a lane, with all data about the operation that is known without reading the
 * database.
 */
import type { TrialCharge } from '../store/write/charge.ts'
import type { Look } from '../store/write/trace-state.ts'
import type { ReadyAppend, ReadyEnd, ReadyRecord } from '../threads/ready.ts'
import type { ByKey, Decision, TraceState } from '../trace/states/decide.ts'
import type { IdleOperation } from '../trace/states/idle.ts'
import type { ExportWrite } from './exports/export-write.ts'
import type { Queued } from './queue.ts'

export type Operation = ReadyRecord | (ReadyAppend & ByKey) | (ReadyEnd & ByKey) | ExportWrite | IdleOperation

export interface Pending extends Queued {
  readonly projectId: number
  readonly traceId: string
  /** The key that sent the operation, stored with a new trace. Null if a command restores the trace. */
  readonly keyId: string | null
  /** The key's environment; null if the key has none. */
  readonly environment: string | null
  readonly operation: Operation
  /**
   * Set if a trace that the operation creates counts against a trial account's limit. The operation then forms a
   * separate batch.
   */
  readonly charge: TrialCharge | undefined
  /** Whether the stored state must be read before the decision. */
  look: boolean
  /**
   * Unique numbers used by the attempts so far. If an attempt was committed, the trace's row contains one of these
   * numbers.
   */
  attempts: number[]
  /** The decision of the latest attempt. */
  decision: Decision | undefined
  /** Number of times the operation was returned to the queue. */
  tries: number
  /** Time at which the connection first broke during an attempt, in ms of performance.now(). */
  lostSince: number | undefined
  /** Whether the operation has been resolved or rejected. */
  settled: boolean
  resolve(decision: Decision): void
  reject(error: unknown): void
}

/** A decision that changes stored data. */
export type Write = Extract<Decision, { type: 'insert' | 'change' | 'grow' | 'advance' }>

export interface Decided {
  readonly pending: Pending
  readonly state: TraceState | undefined
  readonly decision: Write
}

export const isWrite = (decision: Decision): decision is Write =>
  decision.type !== 'duplicate' && decision.type !== 'refused'

/** Returns the trace that an operation would create; undefined for operations that only change stored traces. */
export function recordOf({ operation }: Pending): ReadyRecord | undefined {
  if (operation.operation === 'export') return operation.first
  return operation.operation === 'record' ? operation : undefined
}

/** Returns the parts of the trace's stored state that must be read before the operation can be decided. */
export function lookOf({ projectId, traceId, operation }: Pending): Look {
  const look = { projectId, traceId, spanIds: spansOf(operation).map(span => span.id), detail: detailOf(operation) }
  const line = operation.operation === 'record' ? operation.restored : undefined
  return line === undefined ? look : { ...look, line }
}

function spansOf(operation: Operation): readonly { readonly id: string }[] {
  // For an export, the hashes of all stored spans are read.
  if (operation.operation === 'idle' || operation.operation === 'export') return []
  return operation.operation === 'record' ? (operation.restored?.spans ?? []) : operation.spans
}

function detailOf(operation: Operation): Look['detail'] {
  if (operation.operation === 'record') return operation.restored === undefined ? 'none' : 'restore'
  if (operation.operation === 'idle') return 'export'
  return operation.operation === 'append' ? 'none' : operation.operation
}

/**
 * Whether the stored state must be read before the first attempt. An append or an end changes a stored trace, whose
 * state is needed. A new trace is inserted without a read, with three exceptions:
 *
 * - The trace is too large. Such a trace is rejected, unless it is already stored and therefore a duplicate or a
 *   conflict.
 * - The trace is restored. In a repeated import, all traces are stored already.
 * - The trace comes from an export without the root span. Other spans of the trace have often arrived before.
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

/** Whether an earlier attempt was committed. An insert leaves its number in `seq`, a change in `version`. */
export const isOurs = ({ attempts }: Pending, { seq, version }: TraceState): boolean =>
  attempts.includes(seq) || attempts.includes(version)

export function trialLimitReached({ limit }: TrialCharge): Decision {
  const message = `the trial account has reached its limit of ${limit} traces`
  return { type: 'refused', code: 'trial_limit_reached', message }
}

export function refusalMessage(pending: Pending): string {
  const unknown = pending.lostSince !== undefined && pending.attempts.length > 0
  return unknown
    ? 'the connection to the database was lost during the write; resend the same request to see if it succeeded'
    : 'the database rejected the write; nothing was stored; retry later'
}
