/** What the write path (lib/ingest/write-path.ts) offers to routes, and what it answers. */

import type { Room } from '../limits/admission.ts'
import type { OtlpEncoding } from '../otlp/wire/request.ts'
import type { Principal } from '../schema/principal.ts'
import type { IdleEnd } from '../trace/states/idle.ts'

/** `running` says that the trace was recorded without an end. */
export interface Recorded {
  readonly traceId: string
  readonly spanCount: number
  readonly duplicate: boolean
  readonly running: boolean
}
/** `added` and `duplicate` count the spans of the batch, `spanCount` those of the trace. */
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

/** What became of an export. It is answered 2xx even if some of its spans were refused. */
export interface Exported {
  readonly rejectedSpans: number
  /** Why they were refused, in one sentence; empty if none was. */
  readonly message: string
}

/** A running trace of OpenTelemetry to which nothing came for a while. */
export interface IdleTrace {
  readonly projectId: number
  readonly traceId: string
  readonly version: number
  readonly end: IdleEnd
}

/**
 * The write path. Its methods take bodies as decoded bytes, and resolve once the outcome is committed. They reject
 * with a Refusal if the body or the database refuses the write.
 */
export interface Ingest {
  record(key: Principal, body: Uint8Array): Promise<Recorded>
  append(key: Principal, traceId: string, body: Uint8Array): Promise<Appended>
  end(key: Principal, traceId: string, body: Uint8Array): Promise<Ended>
  /** Writes spans in OTLP. Each trace is a write of its own, whatever becomes of the others. */
  export(key: Principal, body: Uint8Array, encoding: OtlpEncoding): Promise<Exported>
  /** Ends a trace with what is there. Resolves to false if it has changed since. */
  complete(trace: IdleTrace): Promise<boolean>
  /**
   * Reserves room for a body of so many bytes and for so many requests (1 by default) of a project, until `release` is
   * called. Throws the Refusal `quota_exhausted` if the queue is full, or the project has its share of it.
   */
  admit(bytes: number, requests?: number, projectId?: number): Room
  /** Runs a statement without result over a connection on which batches are written. Rejects if it fails. */
  check(statement: string): Promise<void>
  /** Writes what is queued, then ends the threads and the connections. */
  close(): Promise<void>
}
