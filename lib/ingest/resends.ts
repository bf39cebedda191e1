/**
 * Bodies of POST /api/v1/traces that were recorded lately, by their digest. A client that had no answer sends the same
 * bytes again: they need not be prepared again to know what they hold. Whether the trace still stands as recorded is
 * asked of the database, so that a trace which was deleted meanwhile is recorded anew. Bodies are digested only while
 * resends come; the first resend after a while is found out by the write path.
 */
import { hash } from 'node:crypto'
import type { Pool } from '../database/pool.ts'
import {
  type RecordedState,
  readRecordedByProject,
  readRecordedStates,
  type TraceKey
} from '../store/write/trace-state.ts'
import type { Recorded } from './ingest.ts'

/** The trace of a recorded body. */
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
 * At least so many of the bodies recorded last are remembered, and at most twice as many, which takes some MB. Under
 * full load these are the bodies of the last seconds.
 */
export const LEAST_BODIES = 16_384
/** A body of more bytes is not digested, since that would hold the main thread for too long. */
export const MAX_BYTES = 256 * 1024
/**
 * So many bodies are digested after each resend: the digest costs as much as it saves where 3 in 100 are resends
 * (test/bench/RESULTS.md, "Resends"), and is left out where they are rare.
 */
export const DIGESTS_PER_RESEND = 100

export class Resends {
  readonly #pool: Pool
  readonly #isApart: () => boolean
  #latest = new Map<string, RecordedBody>()
  /**
   * What was the latest until that was full. Forgetting it as a whole costs nothing; removing the oldest one by one
   * costs more than the digest, since a Map looks through the places of all that were removed.
   */
  #earlier = new Map<string, RecordedBody>()
  /** So many of the bodies that come are still to be digested. */
  #toDigest = 0
  #waiting: Waiting[] = []
  #isReading = false

  /** `isApart`: projects may be on several servers. */
  constructor(pool: Pool, isApart: () => boolean) {
    this.#pool = pool
    this.#isApart = isApart
  }

  /** A resend came: more are to be expected. */
  noteResend(): void {
    this.#toDigest = DIGESTS_PER_RESEND
  }

  /** The key of a body within a project; undefined if the body is too large, or no resends are expected. */
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
    this.#latest.set(key, { traceId, hash, running })
  }

  /** The answer to a body whose trace is still stored as it was recorded; undefined if the body must be made ready. */
  async find(projectId: number, key: string): Promise<Recorded | undefined> {
    const body = this.#latest.get(key) ?? this.#earlier.get(key)
    if (body === undefined) return undefined
    const { traceId, running } = body
    const state = await this.#read({ projectId, traceId })
    if (state === undefined || state.isGathered || state.bodyHash !== body.hash) return undefined
    this.noteResend()
    return { traceId, spanCount: state.spanCount, duplicate: true, running }
  }

  /** Reads the state of a trace. Traces that are asked for during a read are read together afterwards. */
  #read(key: TraceKey): Promise<RecordedState | undefined> {
    return new Promise(resolve => {
      this.#waiting.push({ resolve, ...key })
      if (this.#isReading) return
      this.#isReading = true
      setImmediate(() => void this.#readWaiting())
    })
  }

  /** Reads the traces that wait. If the database cannot be read, their bodies are made ready and fail later. */
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
