/**
 * Has bodies made ready in turns of their projects, so that a project's bodies wait only for that project's earlier
 * ones. A body that needs no thread waits for none, and a large one goes to a thread of its own.
 */
import { FairGate } from '../limits/fair-gate.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { LARGE_BODY_BYTES } from '../schema/input.ts'
import { BodyThreads, INLINE_BYTES } from './body-threads.ts'
import type { Ready, ReadyTask } from './ready.ts'

/**
 * The most bytes of bodies at each worker thread. A thread takes bodies in the order of their arrival, so a project
 * waits for this many bytes of other projects before its turn comes. With half of it, a thread would idle between two
 * large bodies.
 */
const THREAD_BYTES = 4 * 1024 * 1024

export class FairThreads {
  readonly #threads: BodyThreads
  readonly #turns: FairGate

  constructor(workers: number, log: Logger, heapMiB?: number) {
    this.#threads = new BodyThreads(workers, log, heapMiB)
    this.#turns = new FairGate(workers * THREAD_BYTES)
  }

  /** Makes a body ready as BodyThreads does, when it is the project's turn. */
  async makeReady(task: ReadyTask, projectId: number): Promise<Ready> {
    const { byteLength } = task.body
    if (byteLength <= INLINE_BYTES || byteLength > LARGE_BODY_BYTES) return this.#threads.makeReady(task)
    await this.#turns.enter(projectId, byteLength)
    try {
      return await this.#threads.makeReady(task)
    } finally {
      this.#turns.leave(byteLength)
    }
  }

  /** How many bytes of its heap each thread uses. */
  get heaps(): readonly number[] {
    return this.#threads.heaps
  }

  /** Adds the number of threads, and what they use, to the metrics. */
  watch(metrics: Metrics): void {
    metrics.watch('spoor_worker_threads', 'Worker threads that run.', () => this.heaps.length)
    metrics.watch('spoor_worker_heap_bytes', 'What is used of the heaps of worker threads, as each said last.', () =>
      this.heaps.reduce((sum, heap) => sum + heap, 0)
    )
  }

  close(): Promise<void> {
    return this.#threads.close()
  }
}
