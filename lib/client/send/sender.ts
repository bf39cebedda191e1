/**
 * Sends what is recorded, until each part was answered. A delivery has the parts of one trace, which go one after
 * another. It is
 *
 * - ready: in the queue, first come, first served, a few at once;
 * - in flight: its first part is at the service;
 * - put off: the service is away or full, or the trace has to wait; it goes to the end of the queue;
 * - settled: all parts are answered, or it is lost, which is counted and said.
 *
 * What waits is held in memory up to a bound, then on disk up to another one. What does not fit there either is lost.
 */
import type { Part } from '../record/trace.ts'
import { messageOf } from '../record/values.ts'
import { type Answer, hasScore, judge, parse, type Verdict, waitMs } from './answer.ts'
import { type Delivery, newDelivery, pathOf, sizeOf } from './delivery.ts'
import { Flushes } from './flushes.ts'
import { type Flushed, Outcome } from './outcome.ts'
import { shrink } from './shrink.ts'
import type { Spool } from './spool.ts'
import type { Transport } from './transport.ts'

export interface SenderOptions {
  readonly spool: Spool | undefined
  /** Whether each delivery is written to disk at once, so that not even a kill loses it. */
  readonly spoolEach: boolean
  readonly memoryBytes: number
  readonly onProblem: (problem: string) => void
}

export interface FlushOptions {
  /** How long to wait at most; 30 s if not given. */
  readonly timeoutMs?: number | undefined
}

export const MOST_IN_FLIGHT = 8
/** After so long without success, what waits is written to disk. */
const SAVE_AFTER_MS = 10_000
/** So many at a time, since each is written while the application waits. */
const SAVED_AT_ONCE = 20
const SAVE_PAUSE_MS = 100
/** Files that others have left are taken so many at a time: the application waits for each rename. */
const ADOPTED_AT_ONCE = 200
/** A key that is refused is tried again so often: somebody may have seen to it. */
const REFUSED_PAUSE_MS = 60_000
const FLUSH_MS = 30_000
/** A score that failed may be stored: equal ones of the trace are looked for, if the key may read. */
const UNSURE_KIND = 'score'

export class Sender {
  private readonly transport: Transport
  private readonly options: SenderOptions
  private readonly outcome: Outcome
  private queue: Delivery[] = []
  /** All that wait or are in flight, the oldest first. */
  private readonly unsettled = new Set<Delivery>()
  private readonly byTrace = new Map<string, Delivery>()
  private readonly inFlight = new Set<Delivery>()
  private bytes = 0
  /** Failures of the service in a row, and when the next try is due. */
  private failures = 0
  private failingSince: number | undefined
  private resumeAt = 0
  private timer: NodeJS.Timeout | undefined
  private isMoreOnDisk = false
  private readonly flushes = new Flushes()
  /** The number of the newest delivery. */
  private newest = 0

  constructor(transport: Transport, options: SenderOptions) {
    this.transport = transport
    this.options = options
    this.outcome = new Outcome(options.onProblem)
  }

  /** Takes a part of a trace. It is sent, kept or lost, and never waited for. */
  add(traceId: string, name: string, part: Part): void {
    const open = this.byTrace.get(traceId)
    if (open === undefined) {
      const delivery = newDelivery(traceId, name, [part])
      this.byTrace.set(traceId, delivery)
      this.enqueue(delivery)
      this.bytes += delivery.bytes
      this.makeRoom(delivery)
    } else {
      if (open.parts === undefined && !this.load(open)) return
      open.parts!.push(part)
      open.bytes += sizeOf(part)
      this.bytes += sizeOf(part)
      // Its file lacks this part.
      if (open.file !== undefined) this.save(open)
      this.makeRoom(open)
    }
    this.pump()
  }

  /** Takes some of what other processes have left on disk, and says how much. */
  adopt(): number {
    let files: readonly string[] = []
    try {
      files = this.options.spool?.adopt(ADOPTED_AT_ONCE) ?? []
    } catch (error) {
      this.outcome.problem(`the spool cannot be read: ${messageOf(error)}`)
    }
    for (const file of files) {
      const [, traceId = ''] = file.split(/[/\\]/).at(-1)!.split('-')
      this.enqueue(newDelivery(traceId, 'from the spool', undefined, file))
    }
    this.isMoreOnDisk = files.length >= ADOPTED_AT_ONCE
    this.pump()
    return files.length
  }

  /**
   * Sends what waits, and says what became of all. `untilFailure`: does not wait for a service that is away.
   */
  async flush({ timeoutMs = FLUSH_MS }: FlushOptions = {}, untilFailure = false): Promise<Flushed> {
    if (this.unsettled.size > 0) {
      this.resumeAt = 0
      for (const delivery of this.unsettled) delivery.notBefore = 0
      const settled = this.flushes.wait(this.newest, timeoutMs, untilFailure)
      this.pump()
      await settled
    }
    return this.state()
  }

  /** The service is away or full, and is not asked at the moment. */
  get isPaused(): boolean {
    return this.failures > 0 && performance.now() < this.resumeAt
  }

  state(): Flushed {
    return { ...this.outcome.state(), kept: this.unsettled.size }
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
    for (const delivery of this.unsettled) {
      if (delivery.file === undefined && !this.save(delivery)) failed++
    }
    return failed
  }

  /** Nothing more is begun. */
  stop(): void {
    clearTimeout(this.timer)
    this.resumeAt = Number.POSITIVE_INFINITY
  }

  private enqueue(delivery: Delivery): void {
    this.queue.push(delivery)
    this.unsettled.add(delivery)
    this.newest = delivery.number
  }

  private pump(): void {
    const now = performance.now()
    if (this.resumeAt === Number.POSITIVE_INFINITY) return
    if (now < this.resumeAt) {
      this.wake(this.resumeAt - now)
      return
    }
    // While the service does not answer, one asks for all.
    const most = this.failures > 0 ? 1 : MOST_IN_FLIGHT
    let next = Number.POSITIVE_INFINITY
    for (let left = this.queue.length; left > 0 && this.inFlight.size < most; left--) {
      const delivery = this.queue.shift()!
      if (delivery.notBefore > now) {
        this.queue.push(delivery)
        next = Math.min(next, delivery.notBefore - now)
      } else {
        this.inFlight.add(delivery)
        // An application must not fail by a fault of this.
        this.deliver(delivery).catch(error => this.giveUp(delivery, `a fault of the client: ${messageOf(error)}`))
      }
    }
    if (next < Number.POSITIVE_INFINITY) this.wake(next)
  }

  private wake(afterMs: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => {
      const isMore = this.saveSome()
      this.pump()
      if (isMore) this.wake(SAVE_PAUSE_MS)
    }, afterMs).unref()
  }

  private async deliver(delivery: Delivery): Promise<void> {
    if (delivery.parts === undefined && !this.load(delivery)) return
    for (let part = delivery.parts![0]; part !== undefined; part = delivery.parts![0]) {
      const answer = await this.transmit(delivery, part)
      const verdict = judge(part.kind, answer, delivery.tries)
      if (verdict.do !== 'stop' && (verdict.do !== 'again' || !verdict.all)) this.isAnswering()
      if (!this.conclude(delivery, part, verdict, answer)) return
    }
    this.settle(delivery)
  }

  private async transmit(delivery: Delivery, { kind, body }: Part): Promise<Answer> {
    const path = pathOf(delivery.traceId, kind)
    if (kind === UNSURE_KIND && delivery.isUnsure) {
      const answer = await this.transport.send('GET', path)
      if (hasScore(answer.text, body)) return { status: 200, text: '{"ok":true}' }
      // Without an answer of the service nobody knows. A key that may not read has none to wait for.
      if (![200, 403, 404].includes(answer.status)) return answer
    }
    return this.transport.send('POST', path, body)
  }

  /** Does what the verdict says; whether the delivery goes on with its first part. */
  private conclude(delivery: Delivery, part: Part, verdict: Verdict, { text }: Answer): boolean {
    switch (verdict.do) {
      case 'done':
        if (part.kind === 'end' && parse(text)?.duplicate === true) delivery.doubt = undefined
        if (part.kind === 'record' || part.kind === 'end' || part.kind === 'otlp') this.outcome.stored(delivery.traceId)
        return this.next(delivery)
      case 'again':
        delivery.tries++
        delivery.isUnsure = true
        if (verdict.all) this.fails(verdict)
        else delivery.notBefore = performance.now() + waitMs(delivery.tries, verdict.afterMs)
        return this.putOff(delivery)
      case 'stop':
        this.failingSince = Number.NEGATIVE_INFINITY
        this.resumeAt = performance.now() + REFUSED_PAUSE_MS
        this.failures++
        this.outcome.problem(`nothing is sent for a minute, but kept: ${verdict.reason}`)
        this.flushes.failed(true)
        return this.putOff(delivery)
      case 'cut':
        if (delivery.isCut || part.kind === 'otlp' || part.kind === 'score')
          return this.drop(delivery, part, verdict.reason)
        delivery.isCut = true
        return this.replace(delivery, { ...part, body: shrink(part.body) })
      case 'ended':
        delivery.doubt = `spans: ${verdict.reason}`
        return this.next(delivery)
      case 'lost':
        return this.drop(delivery, part, verdict.reason)
    }
  }

  /** A part is lost; without its start nothing of a trace can be stored. */
  private drop(delivery: Delivery, { kind }: Part, reason: string): boolean {
    this.lose(delivery.traceId, delivery.name, `${kind}: ${reason}`)
    if (kind === 'record' || kind === 'start') this.release(delivery, delivery.parts!.splice(1))
    return this.next(delivery)
  }

  private next(delivery: Delivery): boolean {
    this.release(delivery, delivery.parts!.splice(0, 1))
    delivery.tries = 0
    delivery.isCut = false
    delivery.isUnsure &&= delivery.file !== undefined
    return true
  }

  private replace(delivery: Delivery, part: Part): boolean {
    this.release(delivery, delivery.parts!.splice(0, 1, part))
    delivery.bytes += sizeOf(part)
    this.bytes += sizeOf(part)
    return true
  }

  private release(delivery: Delivery, parts: readonly Part[]): void {
    const bytes = parts.reduce((sum, part) => sum + sizeOf(part), 0)
    delivery.bytes -= bytes
    this.bytes -= bytes
  }

  private putOff(delivery: Delivery): boolean {
    this.inFlight.delete(delivery)
    this.queue.push(delivery)
    if (delivery.file !== undefined && this.bytes > this.options.memoryBytes / 2) this.unload(delivery)
    this.pump()
    if (this.failures > 0) this.flushes.failed(false)
    return false
  }

  private settle(delivery: Delivery): void {
    if (delivery.doubt !== undefined) this.lose(delivery.traceId, delivery.name, delivery.doubt)
    this.inFlight.delete(delivery)
    this.forget(delivery)
    this.pump()
    if (this.isMoreOnDisk && this.queue.length === 0) this.adopt()
  }

  private forget(delivery: Delivery): void {
    if (delivery.file !== undefined) this.options.spool?.remove(delivery.file)
    if (this.byTrace.get(delivery.traceId) === delivery) this.byTrace.delete(delivery.traceId)
    this.unsettled.delete(delivery)
    const [oldest] = this.unsettled
    this.flushes.settled(oldest?.number)
  }

  private isAnswering(): void {
    this.failures = 0
    this.failingSince = undefined
  }

  private fails({ reason, afterMs }: { readonly reason: string; readonly afterMs?: number }): void {
    const now = performance.now()
    this.failingSince ??= now
    // Those that were in flight together fail together, which is one failure.
    if (now < this.resumeAt) return
    this.failures++
    this.resumeAt = now + waitMs(this.failures, afterMs)
    this.outcome.problem(`not sent, tried again: ${reason}`)
  }

  private get isFailingLong(): boolean {
    return this.failingSince !== undefined && performance.now() - this.failingSince > SAVE_AFTER_MS
  }

  /** What waits is written to disk by and by; whether there is more. */
  private saveSome(): boolean {
    if (!this.isFailingLong) return false
    let left = SAVED_AT_ONCE
    for (const delivery of this.queue) {
      if (delivery.file !== undefined) continue
      if (left-- === 0) return true
      if (!this.save(delivery)) return false
    }
    return false
  }

  /** A delivery has come, or has grown. */
  private makeRoom(delivery: Delivery): void {
    const isFull = this.bytes > this.options.memoryBytes
    if (!isFull && !this.options.spoolEach && !this.isFailingLong) return
    const isSaved = delivery.file !== undefined || this.save(delivery)
    // What is in flight is in memory until it is answered.
    if (!isFull || this.inFlight.has(delivery)) return
    if (isSaved) this.unload(delivery)
    else this.giveUp(delivery, 'there was no room for it in memory or on disk')
  }

  private giveUp(delivery: Delivery, reason: string): void {
    this.inFlight.delete(delivery)
    if (this.queue.at(-1) === delivery) this.queue.pop()
    else this.queue = this.queue.filter(each => each !== delivery)
    this.release(delivery, delivery.parts ?? [])
    this.lose(delivery.traceId, delivery.name, reason)
    this.forget(delivery)
  }

  private save(delivery: Delivery): boolean {
    const { spool } = this.options
    if (spool === undefined || delivery.parts === undefined) return false
    try {
      spool.write(delivery)
      return true
    } catch (error) {
      this.outcome.problem(`not kept on disk: ${messageOf(error)}`)
      // Its file, if it has one, lacks what has come since.
      if (delivery.file !== undefined) spool.remove(delivery.file)
      delivery.file = undefined
      return false
    }
  }

  private unload(delivery: Delivery): void {
    this.bytes -= delivery.bytes
    delivery.bytes = 0
    delivery.parts = undefined
  }

  /** Reads the parts from the file; without them the delivery is settled. */
  private load(delivery: Delivery): boolean {
    const found = this.options.spool?.read(delivery.file!)
    if (found === undefined) {
      this.giveUp(delivery, `its file ${delivery.file} is gone or broken`)
      return false
    }
    delivery.parts = found.parts
    delivery.bytes = found.parts.reduce((sum, part) => sum + sizeOf(part), 0)
    this.bytes += delivery.bytes
    return true
  }
}
