/** Sends waiting deliveries until each part has a response. Loaded when there is something to send. */
import { type Timer, unref } from '../record/bytes.ts'
import type { TracePart } from '../record/trace.ts'
import { messageOf } from '../record/values.ts'
import { type AnswerVerdict, countEqual, judge, parseAnswer, type ServerAnswer, waitMs } from './answer.ts'
import { type Delivery, deliveryPath, deliverySize } from './delivery.ts'
import { exportBody } from './otlp.ts'
import type { Outbox } from './outbox.ts'
import { smaller } from './smaller.ts'
import { CONNECTIONS, type Transport } from './transport.ts'

/** Time without a successful response after which waiting deliveries are written to disk. */
const SAVE_AFTER_MS = 10_000
/** Maximum number of deliveries saved at a time, because each write blocks the application. */
const SAVED_AT_ONCE = 20
const SAVE_PAUSE_MS = 100
/** Pause before a rejected key is retried, in case the key has been fixed on the server. */
const REFUSED_PAUSE_MS = 60_000
/** Maximum number of distinct scores whose stored copies are counted. */
const MOST_SCORES = 1000
/** `flush` and the end of the process wait for a limited time; requests alone do not keep the process alive. */
const BACKGROUND = { isBackground: true, timeoutMs: 20_000 }

export class Sender {
  readonly #transport: Transport
  readonly #outbox: Outbox
  /** Number of consecutive service failures, the time of the first failure, and the time of the next attempt. */
  #failures = 0
  #failingSince: number | undefined
  #resumeAt = 0
  #timer: Timer | undefined
  /** Number of times that this process has stored each distinct score. */
  readonly #scores = new Map<string, number>()

  constructor(outbox: Outbox, transport: Transport) {
    this.#outbox = outbox
    this.#transport = transport
  }

  /** Whether sending pauses because the service is unreachable or busy. */
  get isPaused(): boolean {
    return this.#failures > 0 && performance.now() < this.#resumeAt
  }

  /** Whether the service has failed for so long that new deliveries are written to disk. */
  get isFailingLong(): boolean {
    return this.#failingSince !== undefined && performance.now() - this.#failingSince > SAVE_AFTER_MS
  }

  /** Starts sending ready deliveries. `isNow` ends the current pause. */
  pump(isNow = false): void {
    const outbox = this.#outbox
    if (outbox.isStopped) return
    if (isNow) this.#resumeAt = 0
    const now = performance.now()
    if (now < this.#resumeAt) {
      this.#wake(this.#resumeAt - now)
      return
    }
    // While the service is failing, only one delivery is tried at a time.
    const most = this.#failures > 0 ? 1 : CONNECTIONS
    let next = Number.POSITIVE_INFINITY
    for (let left = outbox.queue.length; left > 0 && outbox.inFlight.size < most; left--) {
      const delivery = outbox.queue.shift()!
      if (delivery.notBefore > now) {
        outbox.queue.push(delivery)
        next = Math.min(next, delivery.notBefore - now)
      } else {
        outbox.inFlight.add(delivery)
        // A client bug must not make the application fail.
        this.#deliver(delivery).catch(error => outbox.giveUp(delivery, `a bug in the client: ${messageOf(error)}`))
      }
    }
    if (next < Number.POSITIVE_INFINITY) this.#wake(next)
  }

  /** Ends the requests that have no response. Their deliveries stay. */
  interrupt(): void {
    this.#transport.interrupt()
  }

  #wake(afterMs: number): void {
    clearTimeout(this.#timer)
    const wake = () => {
      const isMore = this.#saveSome()
      this.pump()
      if (isMore) this.#wake(SAVE_PAUSE_MS)
    }
    this.#timer = unref(setTimeout(wake, afterMs))
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const outbox = this.#outbox
    if (!outbox.load(delivery)) return
    for (let part = this.#first(delivery); part !== undefined; part = this.#first(delivery)) {
      const answer = await this.#transmit(delivery, part)
      const verdict = judge(part.kind, answer, delivery.tries)
      if (verdict.do !== 'stop' && (verdict.do !== 'again' || !verdict.all)) {
        this.#failures = 0
        this.#failingSince = undefined
      }
      if (!this.#conclude(delivery, part, verdict, answer)) return
    }
    if (delivery.doubt !== undefined) outbox.lose(delivery.traceId, delivery.name, delivery.doubt)
    outbox.settle(delivery)
    this.pump()
    if (outbox.queue.length === 0) outbox.refill?.()
  }

  /** Returns the first part in the form in which it is sent. */
  #first(delivery: Delivery): TracePart | undefined {
    const [part] = delivery.parts!
    if (part?.kind !== 'joined') return part
    const sent: TracePart = { kind: 'otlp', body: exportBody(delivery.traceId, part.body) }
    this.#replace(delivery, [sent])
    return sent
  }

  async #transmit(delivery: Delivery, { kind, body }: TracePart): Promise<ServerAnswer> {
    const path = deliveryPath(delivery.traceId, kind)
    // The client gives scores no id, so a score whose response was lost may already be stored. If the key has read
    // access, the number of equal scores stored for the trace is compared with the number that this process has stored.
    // Equal scores from other processes are counted too.
    if (kind === 'score' && delivery.isUnsure) {
      const answer = await this.#transport.send('GET', path, undefined, BACKGROUND)
      if (countEqual(answer.text, body) > (this.#scores.get(delivery.traceId + body) ?? 0))
        return { status: 200, text: '{"ok":true}' }
      // Other statuses are inconclusive, so the check is retried. Without read access (403), there is no check.
      if (![200, 403, 404].includes(answer.status)) return answer
    }
    return this.#transport.send('POST', path, body, BACKGROUND)
  }

  /** Acts on a verdict. Returns whether the delivery continues with its first part. */
  #conclude(delivery: Delivery, part: TracePart, verdict: AnswerVerdict, { text }: ServerAnswer): boolean {
    const outbox = this.#outbox
    switch (verdict.do) {
      case 'done':
        if (part.kind === 'end' && parseAnswer(text)?.duplicate === true) delivery.doubt = undefined
        if (part.kind === 'record' || part.kind === 'end' || part.kind === 'otlp')
          outbox.outcome.stored(delivery.traceId)
        if (part.kind === 'score') this.#scored(delivery.traceId + part.body)
        return this.#next(delivery)
      case 'again':
        delivery.tries++
        delivery.isUnsure = true
        if (verdict.all) this.#fails(verdict)
        else delivery.notBefore = performance.now() + waitMs(delivery.tries, verdict.afterMs)
        return this.#putOff(delivery)
      case 'stop':
        this.#failingSince = Number.NEGATIVE_INFINITY
        this.#resumeAt = performance.now() + REFUSED_PAUSE_MS
        this.#failures++
        outbox.problem(`sending pauses for a minute, and traces are kept: ${verdict.reason}`)
        outbox.flushes.failed(true)
        return this.#putOff(delivery)
      case 'cut': {
        const parts = smaller(part, delivery.cuts)
        if (parts === undefined) return this.#drop(delivery, part, verdict.reason)
        if (parts.length === 1) delivery.cuts++
        this.#replace(delivery, parts)
        return true
      }
      case 'ended':
        delivery.doubt = `spans: ${verdict.reason}`
        return this.#next(delivery)
      case 'lost':
        return this.#drop(delivery, part, verdict.reason)
    }
  }

  #scored(score: string): void {
    const before = this.#scores.get(score) ?? 0
    this.#scores.delete(score)
    this.#scores.set(score, before + 1)
    if (this.#scores.size > MOST_SCORES) this.#scores.delete(this.#scores.keys().next().value!)
  }

  /**
   * Counts a part as lost. If the part is the trace's start, the rest of the trace cannot be stored and is dropped as
   * well.
   */
  #drop(delivery: Delivery, { kind }: TracePart, reason: string): boolean {
    this.#outbox.lose(delivery.traceId, delivery.name, `${kind}: ${reason}`)
    while (delivery.parts!.length > 1 && (kind === 'record' || kind === 'start')) this.#replace(delivery, [])
    return this.#next(delivery)
  }

  #next(delivery: Delivery): boolean {
    this.#replace(delivery, [])
    delivery.tries = 0
    delivery.cuts = 0
    delivery.isUnsure &&= delivery.file !== undefined
    return true
  }

  /** Replaces the first part with `parts`. */
  #replace(delivery: Delivery, parts: readonly TracePart[]): void {
    for (const part of delivery.parts!.splice(0, 1, ...parts)) this.#outbox.grow(delivery, -deliverySize(part))
    for (const part of parts) this.#outbox.grow(delivery, deliverySize(part))
  }

  #putOff(delivery: Delivery): boolean {
    const outbox = this.#outbox
    outbox.inFlight.delete(delivery)
    outbox.queue.push(delivery)
    if (delivery.file !== undefined && outbox.bytes > outbox.options.memoryBytes / 2) outbox.unload(delivery)
    this.pump()
    if (this.#failures > 0) outbox.flushes.failed(false)
    return false
  }

  #fails({ reason, afterMs }: { readonly reason: string; readonly afterMs?: number }): void {
    const now = performance.now()
    this.#failingSince ??= now
    // Concurrent deliveries usually fail together. Their failures count as one failure.
    if (now < this.#resumeAt) return
    this.#failures++
    this.#resumeAt = now + waitMs(this.#failures, afterMs)
    this.#outbox.problem(`not sent to ${this.#transport.address}, will try again: ${reason}`)
  }

  /** Writes a few waiting deliveries to disk. Returns whether more are left. */
  #saveSome(): boolean {
    if (!this.isFailingLong || this.#outbox.isStopped) return false
    let left = SAVED_AT_ONCE
    for (const delivery of this.#outbox.queue) {
      if (delivery.file !== undefined) continue
      if (left-- === 0) return true
      if (!this.#outbox.save(delivery)) return false
    }
    return false
  }
}
