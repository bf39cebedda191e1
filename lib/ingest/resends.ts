/**
 * Remembers recently recorded bodies of POST /api/v1/traces by digest. A client that got no response sends the same
 * bytes again. Their digest identifies the trace, so the body need not be prepared again. A database query checks that
 * the trace is still stored as recorded, so that a trace deleted in the meantime is recorded again. Bodies are digested
 * only while resends arrive; the write path detects the first resend after a quiet period.
 */
import { hash } from 'node:crypto'
import type { Pool } from '../database/pool.ts'
import {
  type RecordedState,
  readRecordedByProject,
  readRecordedStates,
  type TraceKey
} from '../store/write/trace-state.ts'
import { copyOf } from '../trace/states/state-after.ts'
import type { Recorded } from './ingest.ts'

export interface RecordedBody {
  readonly traceId: string
  /** SHA-256 of the canonical body. */
  readonly hash: string
  readonly running: boolean
}

interface Waiting extends TraceKey {
  resolve(state: RecordedState | undefined): void
}

/**
 * Minimum number of recent bodies to remember. At most twice this number are remembered, in a few MB of memory. Under
 * full load, the remembered bodies cover the last few seconds.
 */
export const LEAST_BODIES = 16_384
/** Larger bodies are not digested, because that would block the main thread for too long. */
export const MAX_BYTES = 256 * 1024
/**
 * Number of bodies digested after each resend. Digesting pays off from 3 resends per 100 bodies (test/bench/RESULTS.md,
 * "Resends"), and stops while resends are rare.
 */
export const DIGESTS_PER_RESEND = 100

export class Resends {
  readonly #pool: Pool
  readonly #isApart: () => boolean
  #latest = new Map<string, RecordedBody>()
  /**
   * The previous `#latest`, replaced when `#latest` is full. Dropping a whole Map costs nothing. Removing the oldest
   * entry each time would cost more than the digest, because iterating a Map steps over the slots of removed entries.
   */
  #earlier = new Map<string, RecordedBody>()
  /** Number of upcoming bodies to digest. */
  #toDigest = 0
  #waiting: Waiting[] = []
  #isReading = false

  constructor(pool: Pool, isApart: () => boolean) {
    this.#pool = pool
    this.#isApart = isApart
  }

  /** Notes a resend. For a while afterwards, more resends are expected. */
  noteResend(): void {
    this.#toDigest = DIGESTS_PER_RESEND
  }

  /** Returns a body's key within a project; undefined if the body is too large or no resends are expected. */
  keyOf(projectId: number, body: Uint8Array): string | undefined {
    if (this.#toDigest === 0 || body.byteLength > MAX_BYTES) return undefined
    this.#toDigest--
    return `${projectId}/${hash('sha256', body, 'base64')}`
  }

  remember(key: string, { traceId, hash, running }: RecordedBody): void {
    if (this.#latest.size >= LEAST_BODIES) {
      this.#earlier = this.#latest
      this.#latest = new Map()
    }
    this.#latest.set(key, { traceId: copyOf(traceId), hash, running })
  }

  /** Returns the response if the body's trace is still stored as recorded; undefined if the body must be prepared. */
  async find(projectId: number, key: string): Promise<Recorded | undefined> {
    const body = this.#latest.get(key) ?? this.#earlier.get(key)
    if (body === undefined) return undefined
    const { traceId, running } = body
    const state = await this.#read({ projectId, traceId })
    if (state === undefined || state.isGathered || state.bodyHash !== body.hash) return undefined
    this.noteResend()
    return { traceId, spanCount: state.spanCount, duplicate: true, running }
  }

  /** Reads a trace's state. Requests that arrive during a read are batched into the next read. */
  #read(key: TraceKey): Promise<RecordedState | undefined> {
    return new Promise(resolve => {
      this.#waiting.push({ resolve, ...key })
      if (this.#isReading) return
      this.#isReading = true
      setImmediate(() => void this.#readWaiting())
    })
  }

  /**
   * Reads the waiting traces. If the database cannot be read, the waiting bodies are prepared as usual and fail later.
   */
  async #readWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      const read = this.#isApart() ? readRecordedByProject : readRecordedStates
      const states = await this.#pool.run(sql => read(sql, batch)).catch(() => [])
      for (const [i, { resolve }] of batch.entries()) resolve(states[i])
    }
    this.#isReading = false
  }
}
