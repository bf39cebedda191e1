/**
 * Holds deliveries until they are sent, first in memory and then on disk, each up to a limit. A delivery that fits in
 * neither is lost. Saving is synchronous, so nothing is lost when the process ends. A delivery contains the parts of
 * one trace. Each delivery is
 *
 * - ready: in the queue, which is served in order, a few deliveries at a time;
 * - in flight: the service is processing its first part;
 * - postponed to the end of the queue: the service is unavailable, or the trace must wait;
 * - settled: every part has a response, or the delivery is lost. Losses are counted and reported.
 *
 * The sender (sender.ts) is loaded when there is something to send.
 */
import type { Settings } from '../options.ts'
import type { TracePart } from '../record/trace.ts'
import { messageOf } from '../record/values.ts'
import { type Delivery, deliverySize, newDelivery } from './delivery.ts'
import { type Flushed, Outcome } from './outcome.ts'
import type { Spool } from './spool.ts'

export interface OutboxOptions extends Pick<Settings, 'memoryBytes' | 'onProblem'> {
  readonly spool?: Spool | undefined
  readonly spoolEach?: boolean
}

export interface FlushOptions {
  /** Maximum wait in milliseconds; 30,000 by default. */
  readonly timeoutMs?: number | undefined
}

const FLUSH_MS = 30_000
/** Matches a valid trace id. Only valid ids are safe to use in URLs and file names. */
const TRACE_ID = /^[0-9a-f]{32}$/i

/** Takes deliveries from the queue and settles them (sender.ts). */
interface Courier {
  pump(isNow?: boolean): void
  /** Ends the requests that have no response. */
  interrupt(): void
  readonly isPaused: boolean
  readonly isFailingLong: boolean
}

/** Callers that wait until everything recorded so far is settled. */
class Flushes {
  readonly #open = new Set<{ last: number; untilFailure: boolean; done: () => void }>()

  /**
   * Resolves when every delivery up to number `last` is settled, or at the timeout. If `untilFailure` is true, also
   * resolves when the service is unreachable.
   */
  wait(last: number, timeoutMs: number, untilFailure: boolean): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        clearTimeout(timer)
        this.#open.delete(flush)
        resolve()
      }
      // `unref` is not called, so that the timer keeps the process alive during the wait.
      const timer = setTimeout(done, timeoutMs)
      const flush = { last, untilFailure, done }
      this.#open.add(flush)
    })
  }

  /** Called when a delivery is settled. `oldest` is the number of the oldest unsettled delivery. */
  settled(oldest: number | undefined): void {
    for (const { last, done } of this.#open) if (oldest === undefined || oldest > last) done()
  }

  /** Called when sending fails. If `isFinal` is true, a retry would not help, so every wait ends. */
  failed(isFinal: boolean): void {
    for (const { untilFailure, done } of this.#open) if (isFinal || untilFailure) done()
  }
}

export class Outbox {
  readonly options: OutboxOptions
  readonly outcome: Outcome
  readonly flushes = new Flushes()
  queue: Delivery[] = []
  readonly inFlight = new Set<Delivery>()
  bytes = 0
  /** Whether sending has stopped. */
  isStopped = false
  /** Fetches more deliveries when the queue is empty. */
  refill: (() => void) | undefined
  readonly #hire: (outbox: Outbox) => Promise<Courier>
  #courier: Courier | undefined
  #isHiring = false
  #newest = 0
  /** Waiting and in-flight deliveries, oldest first. */
  readonly #unsettled = new Set<Delivery>()
  readonly #byTrace = new Map<string, Delivery>()

  constructor(options: OutboxOptions, hire: (outbox: Outbox) => Promise<Courier>) {
    this.options = options
    this.outcome = new Outcome(options.onProblem)
    this.#hire = hire
  }

  /** Accepts a part of a trace without waiting. The part is then sent, kept on disk or lost. */
  add(traceId: string, name: string, part: TracePart): void {
    if (!TRACE_ID.test(traceId)) {
      this.lose(String(traceId), name, 'the id of a trace has 32 hexadecimal characters')
      return
    }
    let delivery = this.#byTrace.get(traceId)
    if (delivery === undefined) {
      delivery = newDelivery(traceId, name, [])
      this.#byTrace.set(traceId, delivery)
      this.enqueue(delivery)
    } else if (!this.load(delivery)) return
    delivery.parts!.push(part)
    this.grow(delivery, deliverySize(part))
    // The delivery's file lacks this part.
    if (delivery.file !== undefined) this.save(delivery)
    this.#makeRoom(delivery)
    // A closed client sends nothing, so only the next process can send this.
    if (this.isStopped) {
      this.saveAll()
      this.close()
    } else this.pump()
  }

  enqueue(delivery: Delivery): void {
    this.queue.push(delivery)
    this.#unsettled.add(delivery)
    this.#newest = delivery.number
  }

  pump(now?: boolean): void {
    if (this.#courier !== undefined) this.#courier.pump(now)
    else if (!this.#isHiring && !this.isStopped && this.#unsettled.size > 0) void this.#startSending()
  }

  /**
   * Sends waiting deliveries and returns the overall outcome. If `untilFailure` is true, does not wait for an
   * unreachable service. Waits for deliveries up to number `last`.
   */
  async flush(options?: FlushOptions, untilFailure = false, last = this.#newest): Promise<Flushed> {
    if (this.#unsettled.size > 0 && !this.isStopped) {
      const { timeoutMs = FLUSH_MS } = options ?? {}
      for (const delivery of this.#unsettled) delivery.notBefore = 0
      const settled = this.flushes.wait(last, timeoutMs, untilFailure)
      this.pump(true)
      await settled
    }
    return this.state()
  }

  state(): Flushed {
    return { ...this.outcome.state(), kept: this.#unsettled.size }
  }

  /** Counts deliveries that are not on disk as lost, because nothing is sent after closing. */
  close(): Flushed {
    for (const delivery of this.#unsettled) {
      if (delivery.file === undefined) this.giveUp(delivery, 'the client was closed, and it could not be kept on disk')
    }
    return this.state()
  }

  interrupt(): void {
    this.#courier?.interrupt()
  }

  get isPaused(): boolean {
    return this.#courier?.isPaused ?? false
  }

  problem(text: string): void {
    this.outcome.problem(text)
  }

  /** Counts and reports a lost trace, or a lost part of a trace. */
  lose(traceId: string, name: string, reason: string): void {
    this.outcome.lose({ traceId, name, reason })
  }

  /** Writes all deliveries that have no file to disk, synchronously. Returns the number of failed writes. */
  saveAll(): number {
    let failed = 0
    for (const delivery of this.#unsettled) {
      if (delivery.file === undefined && !this.save(delivery)) failed++
    }
    return failed
  }

  save(delivery: Delivery): boolean {
    const { spool } = this.options
    if (spool === undefined || delivery.parts === undefined) return false
    try {
      spool.write(delivery)
      return true
    } catch (error) {
      this.problem(`not kept on disk: ${messageOf(error)}`)
      // An existing file lacks the parts added since it was written.
      if (delivery.file !== undefined) spool.remove(delivery.file)
      delivery.file = undefined
      return false
    }
  }

  unload(delivery: Delivery): void {
    this.grow(delivery, -delivery.bytes)
    delivery.parts = undefined
  }

  /** Reads the parts from the file if needed. Returns false and settles the delivery if the file is unusable. */
  load(delivery: Delivery): boolean {
    if (delivery.parts !== undefined) return true
    const found = this.options.spool?.read(delivery.file!)
    if (found === undefined) {
      this.giveUp(delivery, `its file ${delivery.file} is gone or broken`)
      return false
    }
    delivery.parts = found.parts
    delivery.name = found.name
    for (const part of found.parts) this.grow(delivery, deliverySize(part))
    return true
  }

  /** Adds `bytes`, which may be negative, to the size of a delivery. */
  grow(delivery: Delivery, bytes: number): void {
    delivery.bytes += bytes
    this.bytes += bytes
  }

  settle(delivery: Delivery): void {
    this.inFlight.delete(delivery)
    if (delivery.file !== undefined) this.options.spool?.remove(delivery.file)
    if (this.#byTrace.get(delivery.traceId) === delivery) this.#byTrace.delete(delivery.traceId)
    this.#unsettled.delete(delivery)
    const [oldest] = this.#unsettled
    this.flushes.settled(oldest?.number)
  }

  giveUp(delivery: Delivery, reason: string): void {
    if (this.queue.at(-1) === delivery) this.queue.pop()
    else this.queue = this.queue.filter(each => each !== delivery)
    this.grow(delivery, -delivery.bytes)
    this.lose(delivery.traceId, delivery.name, reason)
    this.settle(delivery)
  }

  /** Called when a delivery is added or grows. */
  #makeRoom(delivery: Delivery): void {
    const { memoryBytes, spoolEach } = this.options
    const isFull = this.bytes > memoryBytes
    if (!isFull && !spoolEach && !this.#courier?.isFailingLong) return
    const isSaved = delivery.file !== undefined || this.save(delivery)
    // A delivery in flight stays in memory until its response arrives.
    if (!isFull || this.inFlight.has(delivery)) return
    if (isSaved) this.unload(delivery)
    else this.giveUp(delivery, 'there was no room for it in memory or on disk')
  }

  async #startSending(): Promise<void> {
    this.#isHiring = true
    try {
      this.#courier = await this.#hire(this)
      this.#courier.pump()
    } catch (error) {
      // One of the package's files is missing or cannot be opened.
      this.problem(`nothing can be sent: ${messageOf(error)}`)
      this.flushes.failed(true)
    }
    this.#isHiring = false
  }
}
