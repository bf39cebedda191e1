/**
 * Prepares bodies so that projects take turns, and a project with many bodies delays mainly itself. Bodies that need no
 * thread do not wait, and large bodies go to a dedicated thread.
 */
import { FairGate } from '../limits/fair-gate.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { LARGE_BODY_BYTES } from '../schema/input.ts'
import { BodyThreads, isInline } from './body-threads.ts'
import type { Ready, ReadyTask } from './ready.ts'

/**
 * Maximum body bytes assigned to each worker thread. Threads work in order of arrival, so a project's turn waits for at
 * most this many bytes of other projects. With half this bound, a thread would idle between two large bodies.
 */
const THREAD_BYTES = 4 * 1024 * 1024

export class FairThreads {
  readonly #threads: BodyThreads
  readonly #turns: FairGate

  constructor(workers: number, log: Logger, heapMiB?: number) {
    this.#threads = new BodyThreads(workers, log, heapMiB)
    this.#turns = new FairGate(workers * THREAD_BYTES)
  }

  /** Prepares a body like BodyThreads, but waits for the project's turn. */
  async makeReady(task: ReadyTask, projectId: number, isQuiet = false): Promise<Ready> {
    const { byteLength } = task.body
    if (isInline(byteLength, isQuiet) || byteLength > LARGE_BODY_BYTES) return this.#threads.makeReady(task, isQuiet)
    await this.#turns.enter(projectId, byteLength)
    try {
      return await this.#threads.makeReady(task)
    } finally {
      this.#turns.leave(byteLength)
    }
  }

  get heaps(): readonly number[] {
    return this.#threads.heaps
  }

  watch(metrics: Metrics): void {
    metrics.watch('spoor_worker_threads', 'Number of running worker threads.', () => this.heaps.length)
    metrics.watch('spoor_worker_heap_bytes', 'Heap used by worker threads, as last reported by each thread.', () =>
      this.heaps.reduce((sum, heap) => sum + heap, 0)
    )
  }

  close(): Promise<void> {
    return this.#threads.close()
  }
}
