/**
 * Chooses the thread that prepares a body: the main thread for a small body, a dedicated thread for a large body, and a
 * pool thread otherwise. Bodies that arrive together go to a thread in one message, because a message's cost hardly
 * depends on the number of bodies.
 */
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import { moved, threadBytes } from '../rows/thread-bytes.ts'
import { LARGE_BODY_BYTES } from '../schema/input.ts'
import { type KnownModel, learnModels, PricesElsewhere } from '../trace/prices/bundled.ts'
import { makeReady, type Ready, type ReadyResult, type ReadyTask, type TaskName } from './ready.ts'
import { makeHeaps, readHeap } from './thread-heaps.ts'

/**
 * Maximum size, in bytes, of bodies that are prepared on the main thread. Preparing such small bodies costs too little
 * to justify a transfer to another thread (test/bench/RESULTS.md, "Worker threads").
 */
export const INLINE_BYTES = 4096
/**
 * The same maximum while few requests are in flight. A thread could not work on anything else meanwhile, so the
 * transfer to it would only add to the request's duration (test/bench/RESULTS.md, "Worker threads").
 */
export const QUIET_INLINE_BYTES = 32_768

/** Whether a body is prepared on the main thread. */
export const isInline = (bytes: number, isQuiet: boolean): boolean =>
  bytes <= (isQuiet ? QUIET_INLINE_BYTES : INLINE_BYTES)
/**
 * Maximum size of a group, in bytes. A group is sent when the next body would exceed the maximum, or once all requests
 * that arrived together have joined the group. The bound is in bytes because a bound on the body count would spread
 * small bodies over many messages (test/bench/RESULTS.md, "Worker threads").
 */
const GROUP_BYTES = 160 * 1024

/** Bodies being sent to a thread, concatenated in `bytes`. The arrays have one element per body. */
export interface BodyGroup {
  readonly operations: readonly TaskName[]
  readonly environments: readonly (string | null)[]
  readonly hurries: readonly boolean[]
  readonly maxSpans: number | undefined
  readonly tagNames: readonly string[] | undefined
  /** Each body's prices; undefined if no body in the group has prices. */
  readonly prices: readonly ReadyTask['prices'][] | undefined
  readonly lengths: readonly number[]
  readonly bytes: ArrayBufferLike
}

/**
 * A thread's output for a group: a result for each body, and the models whose prices the thread has found since its
 * last output.
 */
export interface GroupResult {
  /** The list is emptied when the results are handed out. */
  readonly results: ReadyResult[]
  readonly models: readonly KnownModel[]
}

/**
 * Heap limits of threads, in MiB. The limit of the thread for large bodies keeps a single body from exhausting the
 * service's memory, and is several times what the largest body needs (test/bench/RESULTS.md, "Worker threads"). Bodies
 * of other threads are smaller, but with the same limit, V8 takes 3 % more CPU time for typical traces ("The fixed
 * base").
 */
const HEAP_MIB = { shared: 2048, alone: 1024 }
/** Idle time after which the thread for single bodies ends. */
const ALONE_IDLE_MS = 10_000

interface Waiting {
  readonly task: ReadyTask
  resolve(result: ReadyResult): void
  reject(error: unknown): void
}

export class BodyThreads {
  readonly #pool: Piscina<BodyGroup, GroupResult>
  /** A thread that receives one body at a time: large bodies, and bodies retried because their group's thread died. */
  readonly #alone: Piscina<BodyGroup, GroupResult>
  #lastAlone: Promise<unknown> = Promise.resolve()
  /** Ids of threads that have loaded their code. */
  readonly #loaded = new Set<number>()
  readonly #heaps = makeHeaps()
  #group: Waiting[] = []
  #groupBytes = 0

  constructor(workers: number, log: Logger, heapMiB?: number) {
    const each = {
      filename: new URL('../../workers/make-ready.js', import.meta.url).href,
      workerData: this.#heaps,
      // Threads start on demand, because starting a thread costs much CPU time and many services never need a thread.
      minThreads: 0,
      // Request admission already bounds the queue.
      maxQueue: Number.POSITIVE_INFINITY,
      recordTiming: false
    }
    this.#pool = new Piscina({
      ...each,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB ?? HEAP_MIB.shared },
      maxThreads: workers,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Each thread holds up to eight groups, because a busy main thread cannot hand out the next group immediately.
      concurrentTasksPerWorker: 8
    })
    this.#alone = new Piscina({
      ...each,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB ?? HEAP_MIB.alone },
      maxThreads: 1,
      idleTimeout: ALONE_IDLE_MS,
      concurrentTasksPerWorker: 1
    })
    for (const pool of [this.#pool, this.#alone]) {
      // Without a listener, a worker error would end the process. The task's promise reports the failure.
      pool.on('error', error => log.error({ err: error }, 'a worker thread failed'))
      // Piscina emits this event once the thread has loaded its code.
      pool.on('workerCreate', ({ id }: { id: number }) => this.#loaded.add(id))
    }
  }

  /**
   * Prepares a body and renders its rows. Throws a Refusal if the body is invalid. `isQuiet` says whether few requests
   * are in flight.
   */
  async makeReady(task: ReadyTask, isQuiet = false): Promise<Ready> {
    const { byteLength } = task.body
    const inline = isInline(byteLength, isQuiet) ? makeInline(task) : undefined
    const result =
      inline ??
      (byteLength > LARGE_BODY_BYTES
        ? await new Promise<ReadyResult>((resolve, reject) => this.#prepareAlone({ task, resolve, reject }))
        : await this.#join(task))
    if ('refusal' in result) throw new Refusal(result.refusal.code, result.refusal.message)
    return result.ready
  }

  /** Heap bytes that each thread uses, as last reported. */
  get heaps(): readonly number[] {
    const threads = [...this.#pool.threads, ...this.#alone.threads]
    return threads.map(({ threadId }) => readHeap(this.#heaps, threadId))
  }

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
      // Piscina's Map of tasks retains this list and its rows for a long time (lib/ingest/trace-locks.ts explains why).
      results.length = 0
    } catch {
      // The thread died. Each body is retried alone, so that only the body that makes a thread die fails.
      for (const each of group) this.#prepareAlone(each)
      // Piscina starts no thread for a queued task until another task is added.
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

  async #run(pool: Piscina<BodyGroup, GroupResult>, group: readonly Waiting[]): Promise<ReadyResult[]> {
    const bytes = bytesOf(group)
    const lengths = group.map(({ task }) => task.body.byteLength)
    const operations = group.map(({ task }) => task.operation)
    const environments = group.map(({ task }) => task.environment)
    const hurries = group.map(({ task }) => task.hurries)
    // A group may begin with bodies of other kinds, whose tasks lack the settings for exports.
    const maxSpans = group.find(({ task }) => task.maxSpans !== undefined)?.task.maxSpans
    const tagNames = group.find(({ task }) => task.tagNames !== undefined)?.task.tagNames
    const prices = group.some(({ task }) => task.prices) ? group.map(({ task }) => task.prices) : undefined
    const work = { operations, environments, hurries, maxSpans, tagNames, prices, lengths, bytes }
    const { results, models } = await pool.run(work, { transferList: moved(bytes) })
    learnModels(models)
    return results
  }

  /**
   * Ends the threads. Waits for threads that are loading their code, because Node 20 aborts the process
   * (v8::Module::IsGraphAsync) when a thread is ended while loading.
   */
  async close(): Promise<void> {
    for (let thread = this.#findLoading(); thread !== undefined; thread = this.#findLoading()) {
      // A thread's first message means that it has loaded its code.
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

/** Prepares a body on this thread. Returns undefined if the body needs prices that this thread does not have. */
function makeInline(task: ReadyTask): ReadyResult | undefined {
  try {
    const result = makeReady(task, false)
    return task.body.byteLength > INLINE_BYTES ? freeOfBody(result) : result
  } catch (error) {
    if (error instanceof PricesElsewhere) return undefined
    throw error
  }
}

/**
 * Copies the strings of the state that is kept for a running trace. Strings can be slices of the body, which would keep
 * the whole body in memory (lib/ingest/state-cache.ts).
 */
function freeOfBody(result: ReadyResult): ReadyResult {
  if (!('ready' in result) || result.ready.operation !== 'record' || result.ready.started === undefined) return result
  return { ready: { ...result.ready, started: structuredClone(result.ready.started) } }
}

/** Returns the group's bytes in a buffer that a thread can receive. */
function bytesOf(group: readonly Waiting[]): ArrayBufferLike {
  const [only] = group
  if (only !== undefined && group.length === 1) {
    const { operation, body } = only.task
    const { buffer, byteOffset, byteLength } = body
    if (byteOffset === 0 && !(buffer instanceof ArrayBuffer)) return buffer
    // A long line of an import is no longer needed on this thread, so it is moved. Copying would double the memory.
    if (operation === 'restore' && byteLength > LARGE_BODY_BYTES && byteLength === buffer.byteLength) return buffer
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
  'body: needs more memory than a single request may use: split it into several requests, or send fewer values'
)
