/**
 * Where bodies are made ready: small ones at once on the main thread, others on worker threads, to which those that came
 * together go in groups: what a message between threads costs is shared by all in it.
 */
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import { moved, threadBytes } from '../rows/thread-bytes.ts'
import { makeReady, type Ready, type ReadyResult, type ReadyTask, type TaskName } from './ready.ts'

/** Bodies up to so many bytes are prepared on the main thread: a small one (2.3 kB) takes 44 µs, and gained nothing on a thread. */
const INLINE_BYTES = 4096
/**
 * A group goes to a thread when it would have more, or when the requests that arrived together are all in it. That is eight
 * typical traces, or thirty appends of two spans: with eight of these at most, 6 % fewer streamed traces a second, in 8 % more
 * of node's CPU (26 turns).
 */
const GROUP_BYTES = 160 * 1024

/** Bodies on their way to a thread: one behind the other in one buffer. */
export interface Group {
  readonly operations: readonly TaskName[]
  readonly environments: readonly (string | null)[]
  readonly hurries: readonly boolean[]
  readonly lengths: readonly number[]
  readonly bytes: ArrayBufferLike
}

interface Waiting {
  readonly task: ReadyTask
  /** A thread has died with it already. */
  readonly retried?: true
  resolve(result: ReadyResult): void
  reject(error: unknown): void
}

export class BodyThreads {
  readonly #pool: Piscina<Group, ReadyResult[]>
  /** The numbers of threads that have loaded their code. */
  readonly #loaded = new Set<number>()
  #group: Waiting[] = []
  #groupBytes = 0

  constructor(workers: number, log: Logger) {
    this.#pool = new Piscina({
      filename: new URL('../../workers/make-ready.js', import.meta.url).href,
      // A thread starts when there is a body for it: its start costs 0.8 s of CPU, and many services never need one.
      minThreads: 0,
      maxThreads: workers,
      idleTimeout: Number.POSITIVE_INFINITY,
      // So many groups wait at a thread, which has them done before the main thread looks again, however much that has to do.
      concurrentTasksPerWorker: 8,
      // The queue is bounded where requests are admitted.
      maxQueue: Number.POSITIVE_INFINITY,
      recordTiming: false
    })
    // Without a listener an error of a worker ends the process; its task is answered through its promise.
    this.#pool.on('error', error => log.error({ err: error }, 'a worker thread failed'))
    // Is said of a thread when it has loaded its code.
    this.#pool.on('workerCreate', ({ id }: { id: number }) => this.#loaded.add(id))
  }

  /** Prepares and renders a body. Throws a Refusal where it is not valid. */
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
      // Piscina's own Map keeps the list for long after, and with it the rows (places.ts says how).
      results.length = 0
    } catch (error) {
      // The thread died. Another takes over, once for each body, so that one which threads die of stands alone.
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

  /** Threads are not ended while they load: node 20 aborts the whole process then (v8::Module::IsGraphAsync). */
  async close(): Promise<void> {
    for (let thread = this.#findLoading(); thread !== undefined; thread = this.#findLoading()) {
      // Its first message says that it has loaded.
      await Promise.race([once(thread, 'message'), once(thread, 'exit')]).catch(() => {})
    }
    await this.#pool.close()
  }

  #findLoading(): Worker | undefined {
    return this.#pool.threads.find(thread => !this.#loaded.has(thread.threadId))
  }
}
