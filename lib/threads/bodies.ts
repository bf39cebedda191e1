/** Reads bodies that do not become traces: patches, scores, log records, messages and long tool results. */
import { FairGate } from '../limits/fair-gate.ts'
import type { FairThreads } from './fair-threads.ts'
import type { Parsed, ParsedName } from './parsing.ts'
import type { ReadyValue } from './ready.ts'

/** Maximum total size, in bytes, of the bodies being read. A parsed body takes several times its size in memory. */
const MAX_PARSED_BYTES = 8 * 1024 * 1024

export class Bodies {
  readonly #threads: FairThreads
  readonly #gate = new FairGate(MAX_PARSED_BYTES)

  constructor(threads: FairThreads) {
    this.#threads = threads
  }

  /** Reads a project's body, on another thread if the body is large. Rejects with a Refusal if the body is invalid. */
  async parse<K extends ParsedName>(name: K, body: Uint8Array, projectId: number): Promise<Parsed[K]> {
    await this.#gate.enter(projectId, body.byteLength)
    try {
      const task = { operation: name, body, environment: null, hurries: false }
      return ((await this.#threads.makeReady(task, projectId)) as ReadyValue).value as Parsed[K]
    } finally {
      this.#gate.leave(body.byteLength)
    }
  }
}
