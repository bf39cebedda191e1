/**
 * Bodies of POST /api/v1/traces that were recorded lately, by their digest. A client that had no answer sends the same bytes
 * again: they need not be prepared again to know what they hold. Whether the trace still stands as recorded is asked of the
 * database, so that a trace which was deleted meanwhile is recorded anew.
 */
import { hash } from 'node:crypto'
import type { Pool } from '../database/pool.ts'
import { type RecordedState, readRecordedStates, type TraceKey } from '../store/write/trace-state.ts'
import type { Recorded } from './ingest.ts'

/** The body as it was recorded: the trace that it holds. */
export interface RecordedBody {
  readonly traceId: string
  /** SHA-256 of the canonical body. */
  readonly hash: string
  readonly running: boolean
}

interface Waiting extends TraceKey {
  resolve(state: RecordedState | undefined): void
}

/** So many bodies are known, which takes 10 MB at most. Under full load they are those of the last ten seconds. */
export const MAX_BODIES = 32_768
/** A body of more bytes is not digested, since that would hold the main thread for too long. */
export const MAX_BYTES = 256 * 1024

export class Resends {
  readonly #pool: Pool
  /** The one that was recorded first stands first. */
  readonly #bodies = new Map<string, RecordedBody>()
  #waiting: Waiting[] = []
  #isReading = false

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** What names a body within a project; undefined: it is too large to be known again. */
  keyOf(projectId: number, body: Uint8Array): string | undefined {
    return body.byteLength > MAX_BYTES ? undefined : `${projectId}/${hash('sha256', body, 'base64')}`
  }

  remember(key: string, { traceId, hash, running }: RecordedBody): void {
    if (this.#bodies.size >= MAX_BODIES) this.#bodies.delete(this.#bodies.keys().next().value as string)
    this.#bodies.set(key, { traceId, hash, running })
  }

  /** The answer to a body that was recorded before and still stands; undefined where the body must go the whole way. */
  async find(projectId: number, key: string): Promise<Recorded | undefined> {
    const body = this.#bodies.get(key)
    if (body === undefined) return undefined
    const { traceId, running } = body
    const state = await this.#read({ projectId, traceId })
    if (state === undefined || state.isGathered || state.bodyHash !== body.hash) return undefined
    return { traceId, spanCount: state.spanCount, duplicate: true, running }
  }

  /** Traces that are asked for while others are being read are read together. */
  #read(key: TraceKey): Promise<RecordedState | undefined> {
    return new Promise(resolve => {
      this.#waiting.push({ ...key, resolve })
      if (this.#isReading) return
      this.#isReading = true
      setImmediate(() => void this.#readWaiting())
    })
  }

  /** Where the database cannot be read, the bodies go the whole way, whose errors say so. */
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
