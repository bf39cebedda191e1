/** Where bodies are made ready: on the main thread below a measured size, on worker threads above it. */
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import { makeReady, type Ready, type ReadyResult, type ReadyTask } from './ready.ts'

/**
 * Bodies up to so many bytes are prepared on the main thread. `npm run bench -- --case typical` (18 kB) on two cores, with
 * the database and the load generator on them too: 710 traces/s here, 627 on a thread, where copying the body over and
 * the rows back costs as much as is won.
 */
const INLINE_BYTES = 64 * 1024

export class Preparation {
  readonly #pool: Piscina<ReadyTask, ReadyResult>
  /** Threads that are loading their code. */
  readonly #loading = new Set<Promise<unknown>>()

  constructor(workers: number, log: Logger) {
    this.#pool = new Piscina({
      filename: new URL('../../workers/prepare.js', import.meta.url).href,
      // A thread starts when there is a body for it: its start costs 0.8 s of CPU, and many services never need one.
      minThreads: 0,
      maxThreads: workers,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Two tasks a thread, so that it finds the next one waiting when it is done with one.
      concurrentTasksPerWorker: 2,
      // The queue is bounded where requests are admitted.
      maxQueue: Number.POSITIVE_INFINITY,
      recordTiming: false
    })
    // Without a listener an error of a worker ends the process; its task is answered through its promise.
    this.#pool.on('error', error => log.error({ err: error }, 'a worker thread failed'))
    this.#pool.on('workerCreate', ({ worker }: { worker: Worker }) => this.#awaitLoaded(worker))
  }

  /** Prepares and renders a body. Throws a Refusal where it is not valid. */
  async makeReady(task: ReadyTask): Promise<Ready> {
    const result = task.body.byteLength <= INLINE_BYTES ? makeReady(task) : await this.#run(task)
    if ('refusal' in result) throw new Refusal(result.refusal.code, result.refusal.message)
    return result.ready
  }

  /** The body is copied to the thread, not moved, so that another can take over from one that died. */
  async #run(task: ReadyTask): Promise<ReadyResult> {
    try {
      return await this.#pool.run(task)
    } catch {
      return await this.#pool.run(task)
    }
  }

  /** A thread's first message says that it has loaded its code. */
  #awaitLoaded(thread: Worker): void {
    const loaded = Promise.race([once(thread, 'message'), once(thread, 'exit')]).catch(() => {})
    this.#loading.add(loaded)
    void loaded.then(() => this.#loading.delete(loaded))
  }

  /** Threads are not ended while they load: node 20 aborts the whole process then (v8::Module::IsGraphAsync). */
  async close(): Promise<void> {
    await Promise.all(this.#loading)
    await this.#pool.close()
  }
}
