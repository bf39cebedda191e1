/**
 * Chooses where a body is made ready: a small one on the main thread at once, a large one on a thread on which no
 * others wait, and any other on a worker thread. Bodies that arrive together go to a thread in one message, because a
 * message costs about the same however many bodies are in it.
 */
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import { moved, threadBytes } from '../rows/thread-bytes.ts'
import { LARGE_BODY_BYTES } from '../schema/input.ts'
import { makeReady, type Ready, type ReadyResult, type ReadyTask, type TaskName } from './ready.ts'
import { makeHeaps, readHeap } from './thread-heaps.ts'

/**
 * Bodies up to this size are made ready on the main thread: for so little work the way to another thread does not pay
 * (test/bench/RESULTS.md, "Worker threads").
 */
export const INLINE_BYTES = 4096
/**
 * A group is sent to a thread when the next body would make it larger than this, or when all requests that arrived
 * together are in it. The bound is one of bytes, because a bound on the number of bodies would spread small ones over
 * many messages (test/bench/RESULTS.md, "Worker threads").
 */
const GROUP_BYTES = 160 * 1024

/** Bodies on their way to a thread, one after another in `bytes`. The arrays have an element for each body. */
export interface BodyGroup {
  readonly operations: readonly TaskName[]
  readonly environments: readonly (string | null)[]
  readonly hurries: readonly boolean[]
  readonly maxSpans: number | undefined
  readonly lengths: readonly number[]
  readonly bytes: ArrayBufferLike
}

/**
 * The heap of a thread in MiB. It is bounded so that no body can take the memory of the whole service, and several
 * times what the largest body takes (test/bench/RESULTS.md, "Worker threads").
 */
const HEAP_MIB = 1024
/** The thread for single bodies is ended when it has had none for so long. */
const ALONE_IDLE_MS = 10_000

interface Waiting {
  readonly task: ReadyTask
  resolve(result: ReadyResult): void
  reject(error: unknown): void
}

export class BodyThreads {
  readonly #pool: Piscina<BodyGroup, ReadyResult[]>
  /** A thread that gets one body at a time: large ones, and retries of a group in which a thread died. */
  readonly #alone: Piscina<BodyGroup, ReadyResult[]>
  #lastAlone: Promise<unknown> = Promise.resolve()
  /** The ids of threads that have loaded their code. */
  readonly #loaded = new Set<number>()
  readonly #heaps = makeHeaps()
  #group: Waiting[] = []
  #groupBytes = 0

  /** `heapMiB` is the heap of each thread. */
  constructor(workers: number, log: Logger, heapMiB = HEAP_MIB) {
    const each = {
      filename: new URL('../../workers/make-ready.js', import.meta.url).href,
      workerData: this.#heaps,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
      // A thread starts when there is a body for it: the start costs much CPU, and many services never need a thread.
      minThreads: 0,
      // The queue is bounded where requests are admitted.
      maxQueue: Number.POSITIVE_INFINITY,
      recordTiming: false
    }
    this.#pool = new Piscina({
      ...each,
      maxThreads: workers,
      idleTimeout: Number.POSITIVE_INFINITY,
      // A busy main thread does not hand out the next group at once. A thread has up to eight, so that it need not
      // wait.
      concurrentTasksPerWorker: 8
    })
    this.#alone = new Piscina({ ...each, maxThreads: 1, idleTimeout: ALONE_IDLE_MS, concurrentTasksPerWorker: 1 })
    for (const pool of [this.#pool, this.#alone]) {
      // Without a listener an error of a worker ends the process; its task is answered through its promise.
      pool.on('error', error => log.error({ err: error }, 'a worker thread failed'))
      // Piscina emits this once the thread has loaded its code.
      pool.on('workerCreate', ({ id }: { id: number }) => this.#loaded.add(id))
    }
  }

  /** Makes a body ready: prepares it and renders its rows. Throws a Refusal if the body is not valid. */
  async makeReady(task: ReadyTask): Promise<Ready> {
    const { byteLength } = task.body
    const result =
      byteLength <= INLINE_BYTES
        ? makeReady(task)
        : byteLength > LARGE_BODY_BYTES
          ? await new Promise<ReadyResult>((resolve, reject) => this.#prepareAlone({ task, resolve, reject }))
          : await this.#join(task)
    if ('refusal' in result) throw new Refusal(result.refusal.code, result.refusal.message)
    return result.ready
  }

  /** The bytes of its heap that each thread uses, by its latest report. */
  get heaps(): readonly number[] {
    const threads = [...this.#pool.threads, ...this.#alone.threads]
    return threads.map(({ threadId }) => readHeap(this.#heaps, threadId))
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
      const results = await this.#run(this.#pool, group)
      for (const [i, result] of results.entries()) group[i]?.resolve(result)
      // Piscina's Map of tasks keeps this list, and with it the rows, for long after (lib/ingest/trace-locks.ts says
      // why).
      results.length = 0
    } catch {
      // The thread died. Each body is tried once more, with no other at that thread, so that none fails with the body
      // that kills threads.
      for (const each of group) this.#prepareAlone(each)
      // Piscina starts no thread for a task that waits in its queue, until another task is added.
      if (this.#pool.queueSize > 0) void this.#run(this.#pool, []).catch(() => {})
    }
  }

  #prepareAlone(waiting: Waiting): void {
    this.#lastAlone = this.#lastAlone.then(async () => {
      try {
        const [result] = await this.#run(this.#alone, [waiting])
        waiting.resolve(result as ReadyResult)
      } catch (error) {
        waiting.reject(isOutOfMemory(error) ? TOO_MUCH_MEMORY : error)
      }
    })
  }

  #run(pool: Piscina<BodyGroup, ReadyResult[]>, group: readonly Waiting[]): Promise<ReadyResult[]> {
    const bytes = bytesOf(group)
    const lengths = group.map(({ task }) => task.body.byteLength)
    const operations = group.map(({ task }) => task.operation)
    const environments = group.map(({ task }) => task.environment)
    const hurries = group.map(({ task }) => task.hurries)
    const maxSpans = group[0]?.task.maxSpans
    return pool.run({ operations, environments, hurries, maxSpans, lengths, bytes }, { transferList: moved(bytes) })
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
    await this.#lastAlone
    await this.#alone.close()
  }

  #findLoading(): Worker | undefined {
    return this.#pool.threads.find(thread => !this.#loaded.has(thread.threadId))
  }
}

/** The bytes of a group, which its thread can have. */
function bytesOf(group: readonly Waiting[]): ArrayBufferLike {
  const [only] = group
  if (only !== undefined && group.length === 1) {
    const { buffer, byteOffset } = only.task.body
    if (byteOffset === 0 && !(buffer instanceof ArrayBuffer)) return buffer
  }
  const total = group.reduce((sum, { task }) => sum + task.body.byteLength, 0)
  const bytes = threadBytes(total, group.length)
  let at = 0
  for (const { task } of group) {
    bytes.set(task.body, at)
    at += task.body.byteLength
  }
  return bytes.buffer
}

const isOutOfMemory = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY'

const TOO_MUCH_MEMORY = new Refusal(
  'payload_too_large',
  'body: takes more memory than one request may have: send it in several, or with fewer values'
)
