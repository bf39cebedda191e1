/** An operation on its way through a writer, and what can be said of it from what is known so far. */
import { pickRows, type SpanRows } from '../rows/copy-rows.ts'
import type { TrialCharge } from '../store/write/charge.ts'
import type { Look } from '../store/write/trace-state.ts'
import type { ReadyAppend, ReadyEnd, ReadyRecord, ReadySpans } from '../threads/ready.ts'
import type { ByKey, Decision, TraceChange, TraceState } from '../trace/states/decide.ts'
import type { GatheredSpan } from '../trace/states/gathered.ts'
import type { Queued } from './queue.ts'

export type Operation = ReadyRecord | (ReadyAppend & ByKey) | (ReadyEnd & ByKey) | (ReadySpans & ByKey)

/** An operation under way. */
export interface Pending extends Queued {
  readonly projectId: number
  readonly traceId: string
  /** Stamped on recorded traces. */
  readonly keyId: string | null
  readonly environment: string | null
  readonly operation: Operation
  /** Set where a new trace is charged to a trial account; such an operation is a batch by itself. */
  readonly charge: TrialCharge | undefined
  /** The state must be read before deciding. */
  look: boolean
  /** Numbers of attempts that may have taken, and what was decided for the last of them. */
  attempts: number[]
  decision: Decision | undefined
  /** How often it was sent back to the queue. */
  tries: number
  /** When the connection went away during it, in ms of performance.now(). */
  lostSince: number | undefined
  /** Answered, by resolve or reject. */
  settled: boolean
  resolve(decision: Decision): void
  reject(error: unknown): void
}

/** A decision of which there is something to write. */
export type Write = Extract<Decision, { type: 'insert' | 'change' | 'grow' }>

/** What is decided for an operation. */
export interface Decided {
  readonly pending: Pending
  readonly state: TraceState | undefined
  readonly decision: Write
}

export const isWrite = (decision: Decision): decision is Write =>
  decision.type === 'insert' || decision.type === 'change' || decision.type === 'grow'

/** The trace that an operation makes where there is none yet. */
export function recordOf({ operation }: Pending): ReadyRecord | undefined {
  if (operation.operation === 'export') return operation.first
  return operation.operation === 'record' ? operation : undefined
}

/** The rows of those spans that are added to a stored trace. */
export function addedRows(
  { operation }: Pending,
  added: TraceChange['spans'] | readonly GatheredSpan[]
): SpanRows | undefined {
  if (operation.operation === 'record' || added.length === 0) return undefined
  if (operation.operation !== 'export') return pickRows(operation.rows, operation.spans, added)
  return operation.first && pickRows(operation.first.rows, operation.storable, added)
}

export function lookOf({ projectId, traceId, operation }: Pending): Look {
  const spanIds = operation.operation === 'record' ? [] : operation.spans.map(span => span.id)
  const { operation: name } = operation
  return { projectId, traceId, spanIds, detail: name === 'end' || name === 'export' ? name : 'none' }
}

/**
 * Whether the state must be read before the first attempt. A new trace is inserted without a look; one that cannot be stored
 * is refused only if it does not exist. What may well be there is looked for: what is restored, when an import is run again,
 * and a trace of which an export has no root.
 */
export function needsLook(operation: Operation): boolean {
  switch (operation.operation) {
    case 'record':
      return operation.past !== undefined || operation.oversize !== undefined
    case 'export':
      return operation.first?.running === true
    default:
      return true
  }
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
