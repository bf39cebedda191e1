/** Sends what waits until each part was answered. Loaded, with undici, when there is something to send. */
import type { Part } from '../record/trace.ts'
import { messageOf } from '../record/values.ts'
import { type Answer, countEqual, judge, parse, type Verdict, waitMs } from './answer.ts'
import { type Delivery, pathOf, sizeOf } from './delivery.ts'
import type { Courier, Holding } from './holding.ts'
import { exportBody } from './otlp.ts'
import { smaller } from './smaller.ts'
import { CONNECTIONS, type Transport } from './transport.ts'

/** After so long without success, what waits is written to disk. */
const SAVE_AFTER_MS = 10_000
/** Each write blocks the application, so few are made at a time. */
const SAVED_AT_ONCE = 20
const SAVE_PAUSE_MS = 100
/** A key that is refused is tried again so often: somebody may have seen to it. */
const REFUSED_PAUSE_MS = 60_000
/**
 * Scores have no id of the client's. One that failed may be stored all the same: so it is looked, if the key may read,
 * whether its trace has more equal ones than this process has stored. An equal one of another process counts as it.
 */
const UNSURE_KIND = 'score'
/** The most different scores whose stored copies are counted. */
const MOST_SCORES = 1000

export class Sender implements Courier {
  readonly #transport: Transport
  readonly #holding: Holding
  /** Failures of the service in a row, and when the next try is due. */
  #failures = 0
  #failingSince: number | undefined
  #resumeAt = 0
  #timer: NodeJS.Timeout | undefined
  /** How often this process has stored each score of a trace. */
  readonly #scores = new Map<string, number>()

  constructor(holding: Holding, transport: Transport) {
    this.#holding = holding
    this.#transport = transport
  }

  get isPaused(): boolean {
    return this.#failures > 0 && performance.now() < this.#resumeAt
  }

  get isFailingLong(): boolean {
    return this.#failingSince !== undefined && performance.now() - this.#failingSince > SAVE_AFTER_MS
  }

  pump(isNow = false): void {
    const holding = this.#holding
    if (holding.isStopped) return
    if (isNow) this.#resumeAt = 0
    const now = performance.now()
    if (now < this.#resumeAt) {
      this.#wake(this.#resumeAt - now)
      return
    }
    // While the service does not answer, one asks for all.
    const most = this.#failures > 0 ? 1 : CONNECTIONS
    let next = Number.POSITIVE_INFINITY
    for (let left = holding.queue.length; left > 0 && holding.inFlight.size < most; left--) {
      const delivery = holding.queue.shift()!
      if (delivery.notBefore > now) {
        holding.queue.push(delivery)
        next = Math.min(next, delivery.notBefore - now)
      } else {
        holding.inFlight.add(delivery)
        // An application must not fail by a fault of this.
        this.#deliver(delivery).catch(error => holding.giveUp(delivery, `a fault of the client: ${messageOf(error)}`))
      }
    }
    if (next < Number.POSITIVE_INFINITY) this.#wake(next)
  }

  #wake(afterMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const isMore = this.#saveSome()
      this.pump()
      if (isMore) this.#wake(SAVE_PAUSE_MS)
    }, afterMs).unref()
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const holding = this.#holding
    if (!holding.load(delivery)) return
    for (let part = this.#first(delivery); part !== undefined; part = this.#first(delivery)) {
      const answer = await this.#transmit(delivery, part)
      const verdict = judge(part.kind, answer, delivery.tries)
      if (verdict.do !== 'stop' && (verdict.do !== 'again' || !verdict.all)) {
        this.#failures = 0
        this.#failingSince = undefined
      }
      if (!this.#conclude(delivery, part, verdict, answer)) return
    }
    if (delivery.doubt !== undefined) holding.lose(delivery.traceId, delivery.name, delivery.doubt)
    holding.settle(delivery)
    this.pump()
    if (holding.queue.length === 0) holding.refill?.()
  }

  /** The first part, in the form in which it is sent. */
  #first(delivery: Delivery): Part | undefined {
    const [part] = delivery.parts!
    if (part?.kind !== 'joined') return part
    const sent: Part = { kind: 'otlp', body: exportBody(delivery.traceId, part.body) }
    this.#replace(delivery, [sent])
    return sent
  }

  async #transmit(delivery: Delivery, { kind, body }: Part): Promise<Answer> {
    const path = pathOf(delivery.traceId, kind)
    if (kind === UNSURE_KIND && delivery.isUnsure) {
      const answer = await this.#transport.send('GET', path)
      if (countEqual(answer.text, body) > (this.#scores.get(delivery.traceId + body) ?? 0))
        return { status: 200, text: '{"ok":true}' }
      // Without an answer of the service nobody knows. A key that may not read has none to wait for.
      if (![200, 403, 404].includes(answer.status)) return answer
    }
    return this.#transport.send('POST', path, body)
  }

  /** Does what the verdict says; whether the delivery goes on with its first part. */
  #conclude(delivery: Delivery, part: Part, verdict: Verdict, { text }: Answer): boolean {
    const holding = this.#holding
    switch (verdict.do) {
      case 'done':
        if (part.kind === 'end' && parse(text)?.duplicate === true) delivery.doubt = undefined
        if (part.kind === 'record' || part.kind === 'end' || part.kind === 'otlp')
          holding.outcome.stored(delivery.traceId)
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
        holding.problem(`nothing is sent for a minute, but kept: ${verdict.reason}`)
        holding.flushes.failed(true)
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

  /** A part is lost; without its start nothing of a trace can be stored. */
  #drop(delivery: Delivery, { kind }: Part, reason: string): boolean {
    this.#holding.lose(delivery.traceId, delivery.name, `${kind}: ${reason}`)
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

  /** Puts others into the place of the first part. */
  #replace(delivery: Delivery, parts: readonly Part[]): void {
    for (const part of delivery.parts!.splice(0, 1, ...parts)) this.#holding.grow(delivery, -sizeOf(part))
    for (const part of parts) this.#holding.grow(delivery, sizeOf(part))
  }

  #putOff(delivery: Delivery): boolean {
    const holding = this.#holding
    holding.inFlight.delete(delivery)
    holding.queue.push(delivery)
    if (delivery.file !== undefined && holding.bytes > holding.options.memoryBytes / 2) holding.unload(delivery)
    this.pump()
    if (this.#failures > 0) holding.flushes.failed(false)
    return false
  }

  #fails({ reason, afterMs }: { readonly reason: string; readonly afterMs?: number }): void {
    const now = performance.now()
    this.#failingSince ??= now
    // Deliveries that were in flight together fail together. That counts as one failure.
    if (now < this.#resumeAt) return
    this.#failures++
    this.#resumeAt = now + waitMs(this.#failures, afterMs)
    this.#holding.problem(`not sent to ${this.#transport.address}, tried again: ${reason}`)
  }

  /** Writes a few waiting deliveries to disk. True if there are more. */
  #saveSome(): boolean {
    if (!this.isFailingLong || this.#holding.isStopped) return false
    let left = SAVED_AT_ONCE
    for (const delivery of this.#holding.queue) {
      if (delivery.file !== undefined) continue
      if (left-- === 0) return true
      if (!this.#holding.save(delivery)) return false
    }
    return false
  }
}
