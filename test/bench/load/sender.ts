/**
 * The load generator, a separate process that records unique traces over keep-alive connections, at full speed or at a
 * fixed rate. It does little work per request, so that it takes little CPU time from a server on the same machine. The
 * report states the CPU time that it used.
 */
import { createHistogram, performance } from 'node:perf_hooks'
import { createIdentities, type Identities, readTraceId } from '../bodies/template.ts'
import { AcceptedLog } from './accepted.ts'
import { Connection } from './connection.ts'
import type { LoadPlan, LoadReport, SenderMessage } from './load.ts'
import { buildScript, isAgent, isProtobuf, type Script, variantsOf } from './requests.ts'

const MAX_LATENCY_MICROS = 600_000_000
/**
 * Bytes of an OTLP response in protobuf that rejects nothing. The collector's receivers encode an empty partial success
 * in two bytes. Rejected spans or a warning make a response longer.
 */
const EMPTY_PARTIAL_SUCCESS_BYTES = 2

const tell = (message: SenderMessage) => process.send!(message)

process.on('message', (plan: LoadPlan) => new Load(plan).start())
// The parent process has ended.
process.on('disconnect', () => process.exit())
// The parent process handles the terminal's Ctrl-C.
process.on('SIGINT', () => {})

/** The traces of one connection, sent one after another. */
interface Track {
  readonly connection: Connection
  script: Script
  /** Whether the current trace has been sent. */
  isStamped: boolean
  /** Index of the script's request that is in flight. */
  step: number
  /** Time at which the request was sent or due. */
  since: number
  refused: boolean
}

const startCounts = () => ({ traces: 0, requests: 0, bodyBytes: 0, partial: 0, statuses: {} as Record<string, number> })

class Load {
  readonly #plan: LoadPlan
  readonly #identities: Identities
  readonly #tracks: Track[]
  readonly #idle: Track[]
  /** Runs of agents differ in size, so connections take them in turn; these are free. Empty for other kinds. */
  readonly #runs: Script[]
  readonly #latency = createHistogram({ lowest: 1, highest: MAX_LATENCY_MICROS, figures: 3 })
  /** Due times of the traces that wait for a connection. */
  readonly #overdue: number[] = []
  #timer: NodeJS.Timeout | undefined
  #ending = false
  /** Number of resends that are due, including a fraction. */
  #resendsDue = 0
  #measured = startCounts()
  readonly #accepted: AcceptedLog
  readonly #isProtobuf: boolean

  constructor(plan: LoadPlan) {
    this.#plan = plan
    this.#accepted = new AcceptedLog(plan.keep ?? 0)
    this.#isProtobuf = isProtobuf(plan.kind)
    this.#identities = createIdentities(plan.firstNumber)
    const { kind, port, runs, endpoint, keys = [plan.key] } = plan
    const variants = variantsOf(kind, runs)
    const build = (i: number) =>
      buildScript(kind, i % variants, {
        ...{ port, key: keys[i % keys.length] as string },
        ...(runs && { runs }),
        ...(endpoint && { endpoint })
      })
    const spare = isAgent(kind) ? Math.max(1, variants - plan.connections) : 0
    this.#runs = Array.from({ length: spare }, (_, i) => build(plan.connections + i))
    this.#tracks = Array.from({ length: plan.connections }, (_, i) => {
      const track: Track = {
        connection: new Connection(port, {
          onAnswer: (status, bodyBytes) => this.#answered(track, status, bodyBytes),
          onLost: reason => this.#fail(reason)
        }),
        script: build(i),
        isStamped: false,
        step: 0,
        since: 0,
        refused: false
      }
      return track
    })
    this.#idle = [...this.#tracks]
  }

  start(): void {
    if (this.#plan.rate === undefined) for (const track of this.#idle.splice(0)) this.#begin(track, performance.now())
    else this.#startClock(this.#plan.rate)
    setTimeout(() => this.#measure(), this.#plan.warmUpMs)
  }

  #measure(): void {
    this.#latency.reset()
    this.#measured = startCounts()
    const cpu = process.cpuUsage()
    const began = performance.now()
    tell({ event: 'opened' })
    setTimeout(() => {
      const seconds = (performance.now() - began) / 1_000
      const { user, system } = process.cpuUsage(cpu)
      tell({ event: 'closed', report: this.#report(seconds, user + system) })
      this.#end()
    }, this.#plan.measureMs)
  }

  #report(seconds: number, cpuMicros: number): LoadReport {
    const ms = (percentile: number) =>
      this.#latency.count === 0 ? Number.NaN : this.#latency.percentile(percentile) / 1_000
    return { ...this.#measured, seconds, p50: ms(50), p99: ms(99), max: ms(100), cpuMicros }
  }

  /** Ends the load after the requests in flight have been answered. */
  #end(): void {
    this.#ending = true
    clearTimeout(this.#timer)
    this.#finishIfIdle()
  }

  #finishIfIdle(): void {
    if (this.#idle.length < this.#tracks.length) return
    for (const { connection } of this.#tracks) connection.close()
    tell({ event: 'finished', accepted: this.#accepted.traces })
  }

  /** Reports that a connection was lost, and ends the process. */
  #fail(reason: string): void {
    for (const { connection } of this.#tracks) connection.close()
    process.send!({ event: 'failed', reason } satisfies SenderMessage, () => process.exit(1))
  }

  /**
   * Starts traces when they are due. The latency of a trace that waits for a connection is measured from its due time,
   * that of any other trace from the timer's call.
   */
  #startClock(rate: number): void {
    const interval = 1_000 / rate
    let due = performance.now()
    const tick = () => {
      const now = performance.now()
      for (; due <= now; due += interval) {
        const track = this.#idle.pop()
        if (track === undefined) this.#overdue.push(due)
        else this.#begin(track, now)
      }
      this.#timer = setTimeout(tick, due - now)
    }
    tick()
  }

  #begin(track: Track, since: number): void {
    if (!this.#isResend(track)) {
      const next = this.#runs.shift()
      if (next !== undefined) {
        this.#runs.push(track.script)
        track.script = next
      }
      this.#identities.next()
      for (const request of track.script.requests) this.#identities.stamp(request)
      track.isStamped = true
    }
    track.step = 0
    track.refused = false
    this.#send(track, since)
  }

  #isResend({ isStamped }: Track): boolean {
    this.#resendsDue += this.#plan.resends ?? 0
    if (!isStamped || this.#resendsDue < 1) return false
    this.#resendsDue -= 1
    return true
  }

  #send(track: Track, since: number): void {
    track.since = since
    track.connection.send(track.script.requests[track.step]!.bytes)
  }

  #answered(track: Track, status: number, bodyBytes: number): void {
    const now = performance.now()
    this.#latency.record(Math.max(1, Math.round((now - track.since) * 1_000)))
    const measured = this.#measured
    measured.requests += 1
    measured.statuses[status] = (measured.statuses[status] ?? 0) + 1
    if (status >= 300) track.refused = true
    else if (this.#isProtobuf && bodyBytes > EMPTY_PARTIAL_SUCCESS_BYTES) {
      track.refused = true
      measured.partial += 1
    }
    track.step += 1
    if (track.step < track.script.requests.length) this.#send(track, now)
    else this.#completed(track, now)
  }

  #completed(track: Track, now: number): void {
    if (!track.refused) {
      this.#measured.traces += 1
      this.#measured.bodyBytes += track.script.bodyBytes
      this.#accepted.add(() => ({ id: readTraceId(track.script.requests[0]!), spans: track.script.spans }))
    }
    if (this.#ending) {
      this.#idle.push(track)
      this.#finishIfIdle()
    } else if (this.#plan.rate === undefined) this.#begin(track, now)
    else if (this.#overdue.length > 0) this.#begin(track, this.#overdue.shift()!)
    else this.#idle.push(track)
  }
}
