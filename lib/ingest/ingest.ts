/** Defines the interface that the write path (lib/ingest/write-path.ts) offers to routes, and its results. */

import type { Room } from '../limits/admission.ts'
import type { OtlpEncoding } from '../otlp/wire/request.ts'
import type { Principal } from '../schema/principal.ts'
import type { IdleEnd } from '../trace/states/idle.ts'

/** The outcome of recording a trace. `running` is true if the trace was recorded without an end. */
export interface Recorded {
  readonly traceId: string
  readonly spanCount: number
  readonly duplicate: boolean
  readonly running: boolean
}
/** The outcome of an append. `added` and `duplicate` count the batch's spans; `spanCount` counts the trace's spans. */
export interface Appended {
  readonly traceId: string
  readonly added: number
  readonly duplicate: number
  readonly spanCount: number
}
export interface Ended {
  readonly traceId: string
  readonly duplicate: boolean
  readonly spanCount: number
}

/** An export's outcome. The response is 2xx even if some spans were rejected. */
export interface Exported {
  readonly rejectedSpans: number
  /** Reasons why spans were rejected, in one sentence; empty if no span was rejected. */
  readonly message: string
}

/** A running OpenTelemetry trace that has received no data for a while. */
export interface IdleTrace {
  readonly projectId: number
  readonly traceId: string
  readonly version: number
  readonly end: IdleEnd
}

/**
 * The write path. Methods take decoded bodies, and resolve once the outcome is committed. The returned promise rejects
 * with a Refusal if the body or the database prevents the write.
 */
export interface Ingest {
  record(key: Principal, body: Uint8Array): Promise<Recorded>
  append(key: Principal, traceId: string, body: Uint8Array): Promise<Appended>
  end(key: Principal, traceId: string, body: Uint8Array): Promise<Ended>
  /** Writes OTLP spans. Each trace is written separately and may fail independently. */
  export(key: Principal, body: Uint8Array, encoding: OtlpEncoding): Promise<Exported>
  /** Writes steps made from log records, encoded by lib/otlp/agents/steps.ts. */
  exportSteps(key: Principal, body: Uint8Array): Promise<Exported>
  /** Ends a trace with its current spans. Resolves to false if the trace has changed in the meantime. */
  complete(trace: IdleTrace): Promise<boolean>
  /**
   * Reserves capacity for a project: `bytes` body bytes and `requests` requests (1 by default), until `release` is
   * called. Throws the Refusal `quota_exhausted` if the queue is full or the project has used its share.
   */
  admit(bytes: number, requests?: number, projectId?: number): Room
  /** Uses a batch connection to run a statement that returns no rows. Rejects if the statement fails. */
  check(statement: string): Promise<void>
  /** Writes queued operations, then ends the threads and closes the connections. */
  close(): Promise<void>
}
