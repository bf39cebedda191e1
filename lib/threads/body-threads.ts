/**
 * Chooses where a body is made ready: a small one on the main thread at once, any other on a worker thread. Bodies that
 * arrive together go to a thread in one message, because a message costs about the same however many bodies are in it.
 */
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import { moved, threadBytes } from '../rows/thread-bytes.ts'
import { makeReady, type Ready, type ReadyResult, type ReadyTask, type TaskName } from './ready.ts'

/**
 * Bodies up to this size are made ready on the main thread: for so little work the way to another thread does not pay
 * (test/bench/RESULTS.md, "Worker threads").
 */
const INLINE_BYTES = 4096
/**
 * A group is sent to a thread when the next body would make it larger than this, or when all requests that arrived
 * together are in it. The bound is one of bytes, because a bound on the number of bodies would spread small ones over
 * many messages (test/bench/RESULTS.md, "Worker threads").
 */
const GROUP_BYTES = 160 * 1024

/** Bodies on their way to a thread, one behind the other in `bytes`. The arrays have an element for each body. */
export interface Group {
  readonly operations: readonly TaskName[]
  readonly environments: readonly (string | null)[]
  readonly hurries: readonly boolean[]
  readonly lengths: readonly number[]
  readonly bytes: ArrayBufferLike
}

interface Waiting {
  readonly task: ReadyTask
  /** Set if a thread has died once while it had this body. */
  readonly retried?: true
  resolve(result: ReadyResult): void
  reject(error: unknown): void
}

export class BodyThreads {
  readonly #pool: Piscina<Group, ReadyResult[]>
  /** The ids of threads that have loaded their code. */
  readonly #loaded = new Set<number>()
  #group: Waiting[] = []
  #groupBytes = 0

  constructor(workers: number, log: Logger) {
    this.#pool = new Piscina({
      filename: new URL('../../workers/make-ready.js', import.meta.url).href,
      // A thread starts when there is a body for it: the start costs much CPU, and many services never need a thread.
      minThreads: 0,
      maxThreads: workers,
      idleTimeout: Number.POSITIVE_INFINITY,
      // A busy main thread does not hand out the next group at once. A thread has up to eight, so that it need not
      // wait.
      concurrentTasksPerWorker: 8,
      // The queue is bounded where requests are admitted.
      maxQueue: Number.POSITIVE_INFINITY,
      recordTiming: false
    })
    // Without a listener an error of a worker ends the process; its task is answered through its promise.
    this.#pool.on('error', error => log.error({ err: error }, 'a worker thread failed'))
    // Piscina emits this once the thread has loaded its code.
    this.#pool.on('workerCreate', ({ id }: { id: number }) => this.#loaded.add(id))
  }

  /** Makes a body ready: prepares it and renders its rows. Throws a Refusal if the body is not valid. */
  async makeReady(task: ReadyTask): Promise<Ready> {
    const result = task.body.byteLength <= INLINE_BYTES ? makeReady(task) : await this.#join(task)
    if ('refusal' in result) throw new Refusal(result.refusal.code, result.refusal.message)
    return result.ready
  }

  /** Puts a body into the group that goes next. */
  #join(task: ReadyTask): Promise<ReadyResult> {
    return new Promise((resolve, reject) => {
      if (this.#groupBytes + task.body.byteLength > GROUP_BYTES) this.#send()
      this.#group.push({ task, resolve, reject })
      this.#groupBytes += task.body.byteLength
      if (this.#group.length === 1) setImmediate(() => this.#send())
    })
  }

  #send(): void {
    const group = this.#group
    if (group.length === 0) return
    this.#group = []
    this.#groupBytes = 0
    void this.#prepare(group)
  }

  async #prepare(group: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#run(group)
      for (const [i, result] of results.entries()) group[i]?.resolve(result)
      // Piscina's Map of tasks keeps this list, and with it the rows, for long after (lib/ingest/trace-locks.ts says
      // why).
      results.length = 0
    } catch (error) {
      // The thread died. Each body is tried once more, in a group of its own, so that the others do not fail with the
      // body that kills threads.
      for (const each of group) {
        if (each.retried) each.reject(error)
        else void this.#prepare([{ ...each, retried: true }])
      }
    }
  }

  #run(group: readonly Waiting[]): Promise<ReadyResult[]> {
    const lengths = group.map(({ task }) => task.body.byteLength)
    const total = lengths.reduce((sum, length) => sum + length, 0)
    const bytes = threadBytes(total, group.length)
    let at = 0
    for (const { task } of group) {
      bytes.set(task.body, at)
      at += task.body.byteLength
    }
    const operations = group.map(({ task }) => task.operation)
    const environments = group.map(({ task }) => task.environment)
    const hurries = group.map(({ task }) => task.hurries)
    return this.#pool.run(
      { operations, environments, hurries, lengths, bytes: bytes.buffer },
      { transferList: moved(bytes.buffer) }
    )
  }

  /**
   * Ends the threads. Waits for threads that are loading their code, because node 20 aborts the whole process
   * (v8::Module::IsGraphAsync) when a thread is ended while it loads.
   */
  async close(): Promise<void> {
    for (let thread = this.#findLoading(); thread !== undefined; thread = this.#findLoading()) {
      // The first message of a thread says that it has loaded its code.
      await Promise.race([once(thread, 'message'), once(thread, 'exit')]).catch(() => {})
    }
    await this.#pool.close()
  }

  #findLoading(): Worker | undefined {
    return this.#pool.threads.find(thread => !this.#loaded.has(thread.threadId))
  }
}
