/** Reads bodies that become no trace: patches, scores, log records, messages and long results of tools. */
import { FairGate } from '../limits/fair-gate.ts'
import type { FairThreads } from './fair-threads.ts'
import type { Parsed, ParsedName } from './parsing.ts'
import type { ReadyValue } from './ready.ts'

/** Bound of the bodies, in bytes, that are being read. What is read takes several times the memory of its body. */
const MAX_PARSED_BYTES = 8 * 1024 * 1024

export class Bodies {
  readonly #threads: FairThreads
  readonly #gate = new FairGate(MAX_PARSED_BYTES)

  constructor(threads: FairThreads) {
    this.#threads = threads
  }

  /** Reads a body of a project, on another thread if it is large. Rejects with a Refusal if it is not valid. */
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
