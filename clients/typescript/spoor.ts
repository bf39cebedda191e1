/** The client, which records the application's traces and reads stored traces. */
import type { KeyDescription, Project } from './api-types.ts'
import { readOptions, type Settings, type SpoorOptions } from './options.ts'
import platform from './platform/node/process.ts'
import storage from './platform/node/storage.ts'
import { type Ask, Scores, SpoorError, Traces } from './read/reads.ts'
import { type Timer, unref } from './record/bytes.ts'
import { currentOtelSpan, type HeadersLike, parentFromHeaders, validParent } from './record/parents.ts'
import { isUsable, runStep } from './record/reading.ts'
import { optionsFirst, type ScoreOptions, type ScoreValue, type SpanOptions, type Step } from './record/step.ts'
import { scoreBody, Trace, type TraceOptions, type TracePart, type TraceRecorder } from './record/trace.ts'
import { messageOf } from './record/values.ts'
import { type FlushOptions, Outbox } from './send/outbox.ts'
import type { Flushed } from './send/outcome.ts'
import type { SpoolLook } from './send/spool-adoption.ts'
import type { Transport } from './send/transport.ts'

export interface ObserveOptions extends SpanOptions, TraceOptions {
  readonly name?: string | undefined
  /** Whether the arguments are recorded; true by default. */
  readonly captureInput?: boolean | undefined
  /** Whether the result is recorded; true by default. */
  readonly captureOutput?: boolean | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: any function can be observed, and keeps its type.
type AnyFunction = (this: any, ...given: any[]) => any

/** Maximum number of running traces. Starting another trace records the oldest trace in its current state. */
const MOST_OPEN = 10_000
/** Interval at which the spool is checked for entries that other processes left. */
const ADOPT_MS = 30_000
/** Time within which an application usually creates all its clients. */
const SETTLED_MS = 500
/** Maximum wait for responses with `flushEach`. */
const FLUSH_EACH_MS = 5000

export class Spoor {
  readonly #ask: Ask = async (...given) => {
    const { obstacle } = this.#settings
    if (obstacle !== undefined) throw new SpoorError(obstacle, 0)
    return (await import('./read/ask.ts')).ask(await this.#connect(), ...given)
  }
  readonly traces = new Traces(this.#ask)
  readonly scores = new Scores(this.#ask)
  readonly #settings: Omit<Settings, 'url' | 'key'>
  readonly #connect: () => Promise<Transport>
  readonly #outbox: Outbox
  #connection: Promise<Transport> | undefined
  readonly #spool: ReturnType<typeof storage.open>
  readonly #context = platform.newContext()
  readonly #running = new Map<string, Trace>()
  readonly #recorder: TraceRecorder
  readonly #ending = {
    endAll: () => {
      for (const trace of this.#running.values()) trace.abandon()
    },
    save: () => {
      const failed = this.#outbox.saveAll()
      if (failed > 0) this.#settings.onProblem(`traces lost: ${failed}; they could not be kept on disk`)
    },
    sendBriefly: async (timeoutMs: number) => {
      // A process that ends before the first check's timer fires still sends what earlier processes left.
      await this.#lookFirst()
      // The number has no limit, because the spool is emptied in batches, each taken as the last one is sent.
      const { kept } = await this.#outbox.flush({ timeoutMs }, true, Number.POSITIVE_INFINITY)
      if (kept > 0) this.#outbox.interrupt()
      return kept === 0
    },
    release: () => this.#spool?.release()
  }
  readonly #offEnding: () => void
  readonly #adopting: Timer | undefined
  #firstLook: Promise<number> | undefined
  #closing: Promise<Flushed> | undefined
  #heldBytes = 0

  /** `take` receives the parts of traces, which are then not sent (testing.ts). */
  constructor(options: SpoorOptions = {}, take?: (traceId: string, part: TracePart) => void) {
    // The client has no property with the key, because applications may log the client.
    const { url, key, ...settings } = readOptions(options, platform.environment)
    this.#settings = settings
    const { memoryBytes, redact, obstacle } = settings
    this.#spool = storage.open({ url, key, ...settings })
    // The transport is loaded when there is something to send.
    this.#connect = () => {
      this.#connection ??= import('./send/transport.ts').then(({ Transport }) => new Transport({ url, key }))
      this.#connection.catch(() => {
        this.#connection = undefined
      })
      return this.#connection
    }
    this.#outbox = new Outbox({ ...settings, spool: this.#spool }, async outbox => {
      const { Sender } = await import('./send/sender.ts')
      return new Sender(outbox, await this.#connect())
    })
    const { origin, pathname } = new URL(url)
    this.#recorder = {
      redact,
      url: origin + pathname.replace(/\/+$/, ''),
      sampleRate: settings.sampleRate,
      keepsWhole: take !== undefined,
      run: (step, act) => runStep(this.#context, step, act),
      problem: text => this.#outbox.problem(text),
      send: ({ traceId, name }, part) => {
        if (take !== undefined) take(traceId, part)
        else if (obstacle === undefined) this.#outbox.add(traceId, name, part)
        else if (part.kind !== 'score') this.#outbox.lose(traceId, name, obstacle)
      },
      over: trace => void this.#running.delete(trace.key),
      hold: bytes => {
        this.#heldBytes += bytes
        return this.#heldBytes > memoryBytes
      }
    }
    if (settings.odd.length > 0)
      this.#outbox.problem(`unknown or wrongly typed options are ignored: ${settings.odd.join(', ')}`)
    if (obstacle !== undefined) this.#outbox.problem(`nothing is recorded: ${obstacle}`)
    this.#offEnding = storage.onEnding(this.#ending)
    // Requests to serverless functions are billed by duration, so the transport is loaded at startup.
    if (settings.flushEach) void this.#connect()
    if (this.#spool === undefined) return
    unref(setTimeout(() => void this.#lookFirst(), 0))
    this.#adopting = unref(setInterval(() => void this.adopt(), ADOPT_MS))
  }

  /** Runs a function as a trace. The function's result becomes the output, and an exception fails the trace. */
  trace<R>(name: string, act: (trace: Trace) => R): R
  trace<R>(name: string, options: TraceOptions, act: (trace: Trace) => R): R
  trace<R>(name: string, ...rest: [(trace: Trace) => R] | [TraceOptions, (trace: Trace) => R]): R {
    const [options, act] = optionsFirst(rest)
    const trace = this.start(name, options)
    const result = this.#recorder.run(trace, () => act(trace))
    if (!this.#settings.flushEach || !(result instanceof Promise)) return result
    // An unreachable service must not delay the function.
    const flush = () => (this.#outbox.isPaused ? undefined : this.#outbox.flush({ timeoutMs: FLUSH_EACH_MS }, true))
    return result.finally(flush) as R
  }

  /** Runs a function as a span of the current step, or as a trace if there is no current step. */
  span<R>(name: string, act: (step: Step) => R): R
  span<R>(name: string, options: SpanOptions, act: (step: Step) => R): R
  span<R>(name: string, ...rest: [(step: Step) => R] | [SpanOptions, (step: Step) => R]): R {
    const [options, act] = optionsFirst(rest)
    const current = this.current()
    if (current !== undefined) return current.span(name, options, act)
    // A trace has metadata instead of attributes.
    const { attributes } = options
    return this.trace(name, attributes === undefined ? options : { metadata: attributes, ...options }, act)
  }

  /**
   * Returns a function that behaves like the function `act` and records each call with its arguments and its result.
   */
  observe<F extends AnyFunction>(act: F, options: ObserveOptions = {}): F {
    if (typeof act !== 'function') throw new TypeError('observe takes (function, options)')
    const name = options.name || act.name || 'anonymous'
    const { captureInput = true, captureOutput = true, ...record } = options
    const span = this.span.bind(this)
    const observed = function (this: unknown, ...given: unknown[]) {
      const input = given.length === 1 ? given[0] : given
      const isInput = captureInput && given.length > 0
      return span(name, { ...(isInput && { input }), ...record }, step => {
        step.keepsResult = captureOutput
        return act.apply(this, given)
      })
    }
    return Object.defineProperty(observed, 'name', { value: name }) as F
  }

  /** Starts a trace, which the caller must end. */
  start(name: string, options: TraceOptions = {}): Trace {
    const { live, openTelemetry } = this.#settings
    const parent =
      validParent(options.parent, this.#recorder.problem) ?? (openTelemetry ? currentOtelSpan() : undefined)
    const trace = new Trace(this.#recorder, name, { live, ...options, parent })
    // Several parts of an external trace may run concurrently, so each is identified by its span id.
    this.#running.set(trace.key, trace)
    if (this.#running.size > MOST_OPEN) {
      const [oldest] = this.#running.values()
      this.#outbox.problem(`more than ${MOST_OPEN} traces are running: the oldest, ${oldest!.name}, is recorded now`)
      oldest!.abandon()
    }
    return trace
  }

  /** Returns the trace or span in which the calling code runs. */
  current(): Step | undefined {
    const step = this.#context.getStore()
    return isUsable(step) ? step : undefined
  }

  /** Attaches a score to a trace, or to a span if `spanId` is given. Any process may have recorded the trace. */
  score(traceId: string, name: string, value: ScoreValue, options: ScoreOptions = {}): void {
    const running = this.#running.get(traceId)
    if (running !== undefined) running.score(name, value, options)
    else
      this.#recorder.send(
        { traceId, name: `score ${name}` },
        { kind: 'score', body: scoreBody(name, value, options, this.#settings.redact) }
      )
  }

  /**
   * Returns options that make a trace part of the caller's trace: `spoor.trace('answer', spoor.fromHeaders(headers),
   * …)`.
   */
  fromHeaders(headers: HeadersLike | undefined): Pick<TraceOptions, 'parent'> {
    const parent = parentFromHeaders(headers)
    return parent === undefined ? {} : { parent }
  }

  /** Resolves when all ended traces are sent, or at the timeout. Returns the totals and the lost traces. */
  async flush(options?: FlushOptions): Promise<Flushed> {
    for (const trace of this.#running.values()) trace.sendNow()
    return this.#outbox.flush(options)
  }

  /** Ends running traces, flushes, leaves unsent traces in the spool, and frees connections and timers. Idempotent. */
  close(options?: FlushOptions): Promise<Flushed> {
    this.#closing ??= this.#end(options)
    return this.#closing
  }

  async #end(options: FlushOptions | undefined): Promise<Flushed> {
    this.#ending.endAll()
    await this.flush(options)
    clearInterval(this.#adopting)
    this.#offEnding()
    this.#ending.endAll()
    this.#outbox.saveAll()
    this.#outbox.isStopped = true
    this.#spool?.owner.unregister(this.#spool.folder)
    await this.#connection?.then(
      transport => transport.close(),
      () => undefined
    )
    this.#ending.release()
    return this.#outbox.close()
  }

  /** Describes the key's project and the amount of data stored in it. */
  project(): Promise<Project> {
    return this.#ask('GET', '/api/v1/project')
  }

  /** Describes the key: its project, environment and scopes. */
  key(): Promise<KeyDescription> {
    return this.#ask('GET', '/api/v1/key')
  }

  /** Reports a problem in the same way as the client's own problems. */
  problem(text: string): void {
    this.#outbox.problem(text)
  }

  /**
   * Takes a batch of the spool entries that other processes left, and returns the number of entries taken. The client
   * also does this regularly. `anyKey` includes entries recorded with other projects' keys.
   */
  adopt({ anyKey }: { readonly anyKey?: boolean | undefined } = {}): Promise<number> {
    return this.#look({ anyKey, isSettled: true })
  }

  /** Number of spool entries that the last check left to clients with other keys. */
  get left(): number {
    return this.#spool?.left ?? 0
  }

  #lookFirst(): Promise<number> {
    this.#firstLook ??= this.#look({ isSettled: false })
    return this.#firstLook
  }

  async #look(look: SpoolLook): Promise<number> {
    const spool = this.#spool
    const outbox = this.#outbox
    if (spool === undefined || this.#settings.obstacle !== undefined) return 0
    try {
      const { taken, isAgain } = await storage.look(spool, outbox, this.#connect, look)
      if (isAgain) unref(setTimeout(() => void this.adopt(), SETTLED_MS))
      return taken
    } catch (error) {
      this.problem(`the spool cannot be checked: ${messageOf(error)}`)
      return 0
    }
  }
}
