/** What the write path (lib/ingest/write-path.ts) offers to routes, and what it answers. */
import type { Principal } from '../access/principal.ts'
import type { OtlpEncoding } from '../otlp/wire/request.ts'
import type { Parsed, ParsedName } from '../threads/parsing.ts'

export interface Recorded {
  readonly traceId: string
  readonly spanCount: number
  readonly duplicate: boolean
  readonly running: boolean
}
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

/** What became of an export: 2xx whatever was refused of it. */
export interface Exported {
  readonly rejectedSpans: number
  /** Why, in a sentence; empty where nothing was refused. */
  readonly message: string
}

/** The write path (lib/ingest): bodies as decoded bytes in, committed outcomes out; refusals are thrown. */
export interface Ingest {
  record(key: Principal, body: Uint8Array): Promise<Recorded>
  append(key: Principal, traceId: string, body: Uint8Array): Promise<Appended>
  end(key: Principal, traceId: string, body: Uint8Array): Promise<Ended>
  /** Spans in OTLP: each trace by itself, whatever the others meet. */
  export(key: Principal, body: Uint8Array, encoding: OtlpEncoding): Promise<Exported>
  /** Reads JSON that is not a trace, on another thread where it is large. Throws a Refusal where it is not right. */
  parse<K extends ParsedName>(name: K, body: Uint8Array): Promise<Parsed[K]>
  /**
   * Reserves room for a body of so many bytes, and for so many requests (1 where it is left out); throws
   * `quota_exhausted` where the queue is full.
   */
  admit(bytes: number, requests?: number): { release(): void }
  close(): Promise<void>
}
