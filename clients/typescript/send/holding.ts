/**
 * Holds deliveries until they are sent: in memory up to a bound, then on disk up to another one. A delivery that fits
 * in neither is lost. Nothing here is asynchronous, so the end of a process loses nothing. A delivery has the parts of
 * one trace. It is
 *
 * - ready: in the queue, first come, first served, a few at once;
 * - in flight: its first part is at the service;
 * - put off: the service is away or full, or the trace has to wait; it goes to the end of the queue;
 * - settled: all parts are answered, or it is lost, which is counted and said.
 *
 * The sender (sender.ts) is loaded when there is something to send.
 */
import type { Part } from '../record/trace.ts'
import { messageOf } from '../record/values.ts'
import { type Delivery, newDelivery, sizeOf } from './delivery.ts'
import { Flushes } from './flushes.ts'
import { type Flushed, Outcome } from './outcome.ts'
import type { Spool } from './spool.ts'

export interface HoldingOptions {
  readonly spool?: Spool | undefined
  /** Whether each delivery is written to disk at once, so that not even a kill loses it. */
  readonly spoolEach?: boolean
  readonly memoryBytes: number
  readonly onProblem: (problem: string) => void
}

export interface FlushOptions {
  /** How long to wait at most; 30 s if not given. */
  readonly timeoutMs?: number | undefined
}

/** Takes deliveries from the queue, and settles them. */
export interface Courier {
  /** Takes what is ready. `now`: what was put off is tried as well. */
  pump(now?: boolean): void
  /** The service is away or full, and is not asked at the moment. */
  readonly isPaused: boolean
  /** The service is away for so long that what comes is written to disk. */
  readonly isFailingLong: boolean
}

const FLUSH_MS = 30_000
/** The id is a part of addresses and of names of files. */
const TRACE_ID = /^[0-9a-f]{32}$/i

export class Holding {
  readonly options: HoldingOptions
  readonly outcome: Outcome
  readonly flushes = new Flushes()
  queue: Delivery[] = []
  readonly inFlight = new Set<Delivery>()
  bytes = 0
  /** Nothing more is begun. */
  isStopped = false
  /** Gets more deliveries when the queue is empty. */
  refill: (() => void) | undefined
  readonly #hire: (holding: Holding) => Promise<Courier>
  #courier: Courier | undefined
  #isHiring = false
  /** The number of the newest delivery. */
  #newest = 0
  /** All that wait or are in flight, the oldest first. */
  readonly #unsettled = new Set<Delivery>()
  readonly #byTrace = new Map<string, Delivery>()

  constructor(options: HoldingOptions, hire: (holding: Holding) => Promise<Courier>) {
    this.options = options
    this.outcome = new Outcome(options.onProblem)
    this.#hire = hire
  }

  /** Takes a part of a trace. It is sent, kept or lost, and never waited for. */
  add(traceId: string, name: string, part: Part): void {
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
    this.grow(delivery, sizeOf(part))
    // Its file lacks this part.
    if (delivery.file !== undefined) this.save(delivery)
    this.#makeRoom(delivery)
    this.pump()
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

  /** Sends what waits, and says what became of all. `untilFailure`: does not wait for a service that is away. */
  async flush({ timeoutMs = FLUSH_MS }: FlushOptions = {}, untilFailure = false): Promise<Flushed> {
    if (this.#unsettled.size > 0) {
      for (const delivery of this.#unsettled) delivery.notBefore = 0
      const settled = this.flushes.wait(this.#newest, timeoutMs, untilFailure)
      this.pump(true)
      await settled
    }
    return this.state()
  }

  state(): Flushed {
    return { ...this.outcome.state(), kept: this.#unsettled.size }
  }

  /** Nothing more is sent: what is not on disk is lost. */
  close(): Flushed {
    for (const delivery of this.#unsettled) {
      if (delivery.file === undefined) this.giveUp(delivery, 'the client was closed, and it could not be kept on disk')
    }
    return this.state()
  }

  get isPaused(): boolean {
    return this.#courier?.isPaused ?? false
  }

  problem(text: string): void {
    this.outcome.problem(text)
  }

  /** Something was taken and then could not be held. */
  lose(traceId: string, name: string, reason: string): void {
    this.outcome.lose({ traceId, name, reason })
  }

  /** Writes all that is not stored to disk, at once. Gives how many could not be written. */
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
      // Its file, if it has one, lacks what has come since.
      if (delivery.file !== undefined) spool.remove(delivery.file)
      delivery.file = undefined
      return false
    }
  }

  unload(delivery: Delivery): void {
    this.grow(delivery, -delivery.bytes)
    delivery.parts = undefined
  }

  /** Reads the parts from the file if they are there only; without them the delivery is settled. */
  load(delivery: Delivery): boolean {
    if (delivery.parts !== undefined) return true
    const found = this.options.spool?.read(delivery.file!)
    if (found === undefined) {
      this.giveUp(delivery, `its file ${delivery.file} is gone or broken`)
      return false
    }
    delivery.parts = found.parts
    delivery.name = found.name
    for (const part of found.parts) this.grow(delivery, sizeOf(part))
    return true
  }

  /** Its parts have so many bytes more, or fewer. */
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

  /** A delivery has come, or has grown. */
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
      // A file of the package is gone, or cannot be opened now.
      this.problem(`nothing can be sent: ${messageOf(error)}`)
      this.flushes.failed(true)
    }
    this.#isHiring = false
  }
}
