/**
 * Bodies of POST /api/v1/traces that were recorded lately, by their digest. A client that had no answer sends the same
 * bytes again: they need not be prepared again to know what they hold. Whether the trace still stands as recorded is
 * asked of the database, so that a trace which was deleted meanwhile is recorded anew.
 */
import { hash } from 'node:crypto'
import type { Pool } from '../database/pool.ts'
import { type RecordedState, readRecordedStates, type TraceKey } from '../store/write/trace-state.ts'
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
 * The most bodies that are remembered, which takes some MB. Under full load these are the bodies of the last seconds.
 */
export const MAX_BODIES = 32_768
/** A body of more bytes is not digested, since that would hold the main thread for too long. */
export const MAX_BYTES = 256 * 1024

export class Resends {
  readonly #pool: Pool
  /** The bodies in the order in which they were recorded. */
  readonly #bodies = new Map<string, RecordedBody>()
  #waiting: Waiting[] = []
  #isReading = false

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** The key of a body within a project; undefined if the body is too large to be remembered. */
  keyOf(projectId: number, body: Uint8Array): string | undefined {
    return body.byteLength > MAX_BYTES ? undefined : `${projectId}/${hash('sha256', body, 'base64')}`
  }

  remember(key: string, { traceId, hash, running }: RecordedBody): void {
    if (this.#bodies.size >= MAX_BODIES) this.#bodies.delete(this.#bodies.keys().next().value as string)
    this.#bodies.set(key, { traceId, hash, running })
  }

  /** The answer to a body whose trace is still stored as it was recorded; undefined if the body must be made ready. */
  async find(projectId: number, key: string): Promise<Recorded | undefined> {
    const body = this.#bodies.get(key)
    if (body === undefined) return undefined
    const { traceId, running } = body
    const state = await this.#read({ projectId, traceId })
    if (state === undefined || state.isGathered || state.bodyHash !== body.hash) return undefined
    return { traceId, spanCount: state.spanCount, duplicate: true, running }
  }

  /** Reads the state of a trace. Traces that are asked for during a read are read together afterwards. */
  #read(key: TraceKey): Promise<RecordedState | undefined> {
    return new Promise(resolve => {
      this.#waiting.push({ ...key, resolve })
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
      const states = await this.#pool.run(sql => readRecordedStates(sql, batch)).catch(() => [])
      for (const [i, { resolve }] of batch.entries()) resolve(states[i])
    }
    this.#isReading = false
  }
}
