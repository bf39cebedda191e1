/**
 * A running trace, which is sent whole when it ends. If the trace is `live` or too large for one request, its start is
 * sent first, its spans follow as they end, and its end comes last.
 */
import { MAX_CATEGORY, MAX_COMMENT, MAX_TAG, MAX_TAGS, MAX_TEXT } from '../api-types.ts'
import { type Timer, unref } from './bytes.ts'
import { Clock } from './clock.ts'
import { DOCUMENT_BYTES, shortText } from './fields.ts'
import { newSpanId, newTraceId, type Parent } from './parents.ts'
import {
  bodyText,
  END_FIELDS,
  listText,
  membersText,
  objectText,
  quoted,
  renderJson,
  SCHEMA,
  type SpanRecord,
  START_FIELDS,
  type Texts
} from './render.ts'
import { SpanBuffer } from './span-buffer.ts'
import { type EndOptions, type ScoreOptions, type ScoreValue, Span, Step, type StepOptions } from './step.ts'
import { type Redact, redactedScore, redactedText } from './values.ts'

export interface TraceOptions extends StepOptions {
  readonly sessionId?: string | undefined
  readonly userId?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /** Attributes of each span of the trace, such as a tenant. */
  readonly spanAttributes?: Readonly<Record<string, unknown>> | undefined
  /** Whether the trace is visible while running. The trace then takes several requests. */
  readonly live?: boolean | undefined
  /** External parent span that the trace joins: `spoor.fromHeaders(request.headers)`. */
  readonly parent?: Parent | undefined
}

/** One of a trace's requests, which are sent in order, each after the response to the previous request. */
export interface TracePart {
  readonly kind: PartKind
  readonly body: string
}
/** A `joined` part contains spans for a trace that other services also record, and is sent as `otlp`. */
export type PartKind = 'record' | 'start' | 'spans' | 'end' | 'joined' | 'otlp' | 'score'

export interface TraceRecorder {
  /** Address of the service. */
  readonly url: string
  /** Share of traces that are recorded. Traces that fail are always recorded. */
  readonly sampleRate: number
  /** Whether each trace is one part, regardless of its size and of what joins it. */
  readonly keepsWhole: boolean
  readonly redact: Redact | undefined
  /** Calls a function with the step as the current step, and ends the step with the function's result. */
  run<R>(step: Step, act: () => R): R
  readonly problem: (text: string) => void
  /** Sends a part after the trace's earlier parts. */
  send(trace: { readonly traceId: string; readonly name: string }, part: TracePart): void
  /** Called when the trace sends nothing more except scores. */
  over(trace: Trace): void
  /**
   * Adds `bytes`, which may be negative, to the total of all running traces. Returns whether the total is too large.
   */
  hold(bytes: number): boolean
}

/**
 * A trace becomes live when its waiting spans exceed this number of bytes. A request may have 2,097,152 bytes, of which
 * the trace itself or one more span uses up to DOCUMENT_BYTES.
 */
const LIVE_BYTES = 1_000_000
/** A live trace sends its waiting spans once their total size reaches BATCH_BYTES, or after BATCH_MS. */
const BATCH_BYTES = 64_000
const BATCH_MS = 500
/** Maximum number of spans of a trace that is sent as OTLP. */
const MAX_JOINED_SPANS = 10_000

export class Trace extends Step {
  readonly traceId: string
  readonly clock: Clock
  readonly recorder: TraceRecorder
  readonly #parentSpanId: string | undefined
  #tags: string[] = []
  #state: 'whole' | 'live' | 'joined' | 'over' = 'whole'
  /**
   * This trace's span id. Set if the trace is part of a larger trace or if other services' spans may join the trace.
   */
  #rootId: string | undefined
  readonly #spans = new SpanBuffer()
  readonly #open = new Set<Span>()
  #scores: TracePart[] = []
  #spanCuts = 0
  /** Whether the trace is recorded even if nothing fails. The id decides, so that all parts of a trace agree. */
  #isSampled: boolean
  #hasFailedSpan = false
  #isLimitSaid = false
  readonly spanAttributes: Readonly<Record<string, unknown>> | undefined
  /** Whether the client, instead of the application, ended the trace. */
  #isNotEnded = false
  #held = 0
  #timer: Timer | undefined

  constructor(recorder: TraceRecorder, name: string, options: TraceOptions = {}) {
    const clock = new Clock()
    super(name, 'traceName', options, clock.now(), recorder)
    this.clock = clock
    this.recorder = recorder
    this.traceId = options.parent?.traceId ?? newTraceId()
    this.#parentSpanId = options.parent?.spanId
    this.#isSampled = Number.parseInt(this.traceId.slice(0, 8), 16) < recorder.sampleRate * 2 ** 32
    this.spanAttributes = options.spanAttributes
    if (recorder.keepsWhole) this.#spans.most = Number.POSITIVE_INFINITY
    this.setSession(options.sessionId)
    this.setUser(options.userId)
    if (Array.isArray(options.tags)) this.addTags(...options.tags)
    else if (options.tags) this.report('tags must be a list')
    if (options.input !== undefined) this.setInput(options.input)
    if (options.metadata !== undefined) this.setMetadata(options.metadata)
    if (options.parent !== undefined) this.#join()
    else if (options.live && this.#isSampled) this.#goLive()
    this.#account()
  }

  protected get owner(): Trace {
    return this
  }

  get id(): string {
    return this.traceId
  }

  get spanId(): string | undefined {
    return this.#parentSpanId === undefined ? undefined : this.#rootId
  }

  /** Identifies the trace within the process, which may run several parts of one external trace. */
  get key(): string {
    return this.spanId ?? this.traceId
  }

  override get url(): string {
    return `${this.recorder.url}/app/t/${this.traceId}`
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  addTags(...tags: readonly string[]): this {
    const all = [
      ...this.#tags,
      ...tags.flatMap(tag => shortText(redactedText(this.recorder.redact, 'tag', tag), MAX_TAG) ?? [])
    ]
    this.#tags = [...new Set(all)].slice(0, MAX_TAGS)
    if (all.length > 0) this.said.tags = renderJson(this.#tags)
    return this
  }

  /** Merges metadata. A new value replaces the previous value of the same name. */
  setMetadata(metadata: Readonly<Record<string, unknown>>): this {
    return this.writeMembers(metadata)
  }

  setSession(sessionId: string | undefined): this {
    return this.#identify('sessionId', sessionId)
  }

  setUser(userId: string | undefined): this {
    return this.#identify('userId', userId)
  }

  override setInput(value: unknown): this {
    return this.#isSent('input') ? this : super.setInput(value)
  }

  recordError(error: unknown): void {
    this.setStatus('error')
    this.writeMembers({ error })
  }

  override score(name: string, value: ScoreValue, options: ScoreOptions = {}): this {
    const { spanId } = this
    const body = scoreBody(name, value, spanId === undefined ? options : { spanId, ...options }, this.recorder.redact)
    const part: TracePart = { kind: 'score', body }
    // Scores wait until the service has the trace.
    if (this.#state === 'whole' || this.#state === 'joined') this.#scores.push(part)
    else this.recorder.send(this, part)
    return this
  }

  /**
   * Lets other services' spans join the trace. Returns a `traceparent` header that identifies the trace and the span.
   */
  share(spanId: string): string {
    if (this.#state === 'whole') this.#join()
    if (this.#state === 'live') {
      this.recorder.problem(`trace ${this.name} is live or large, so spans of other services cannot join it`)
    }
    return `00-${this.traceId}-${spanId || (this.#rootId ?? newSpanId())}-${this.#isSampled ? '01' : '00'}`
  }

  /** Ends the trace once no span's result is being read. Open spans end with the trace. */
  end(options: EndOptions = {}): void {
    if (this.close(options)) this.#finishOnceRead()
  }

  /** Records the trace in its current state, because the process is ending or too many traces are running. */
  abandon(): void {
    if (this.#state === 'over') return
    this.#isNotEnded = this.close({})
    this.#finish()
  }

  /** Sends the waiting spans of a live trace. */
  sendNow(): void {
    if (this.#state === 'live') this.#sendSpans()
  }

  begun(span: Span): void {
    if (this.#spans.isFull && !this.#isLimitSaid) this.#exceed()
    this.#spans.enter(span.spanId)
    this.#open.add(span)
  }

  /**
   * Called when a span begins that a request with a whole trace could not contain. The trace is then sent as OTLP,
   * which accepts more spans, unless its start has been sent.
   */
  #exceed(): void {
    if (this.#state === 'whole') {
      this.#join()
      return
    }
    this.#isLimitSaid = true
    const kept = `keeps its first ${this.#spans.most} spans, and failed spans that replace others`
    this.recorder.problem(`trace ${this.name} ${kept}: later spans are left out`)
  }

  ended(span: Span, record: SpanRecord, said: Texts): void {
    this.#open.delete(span)
    if (this.#state === 'over') return
    this.#spanCuts += span.cutCount
    if (record.kind === 'llm') {
      this.said.model ??= said.model
      this.said.provider ??= said.provider
    }
    this.#hasFailedSpan ||= record.status === 'error'
    this.#spans.add(record)
    const isFull = this.#account()
    const { bytes } = this.#spans
    // A trace that is too large to wait for its status is recorded.
    if (isFull || bytes > LIVE_BYTES) this.#isSampled = true
    if (this.#state === 'whole') {
      if (!this.recorder.keepsWhole && (isFull || bytes > LIVE_BYTES)) this.#goLive()
    } else if (bytes > (this.#state === 'live' ? BATCH_BYTES : LIVE_BYTES)) this.#sendSpans()
    else if (this.#state === 'live') this.#timer ??= unref(setTimeout(() => this.#sendSpans(), BATCH_MS))
    if (this.endedAt === undefined) return
    // The trace waited for this span, because the span's result was still being read.
    this.endedAt = Math.max(this.endedAt, record.endedAt)
    this.#finishOnceRead()
  }

  /** Returns the id of the nearest ancestor that has a slot, so that spans without a slot leave no gap in the tree. */
  parentOf(span: Span): string | undefined {
    let parent = span.parent
    while (parent instanceof Span && !this.#spans.has(parent.spanId)) parent = parent.parent
    return parent.spanId
  }

  #identify(name: 'sessionId' | 'userId', value: string | undefined): this {
    const text = renderJson(shortText(redactedText(this.recorder.redact, name, value), MAX_TEXT))
    if (text !== undefined && !this.#isSent(name)) this.said[name] = text
    return this
  }

  /** Whether a field can no longer be set because the field was sent with the trace's start. */
  #isSent(what: string): boolean {
    if (this.#state !== 'live') return false
    this.recorder.problem(`trace ${this.name} is live: its ${what} can no longer be set`)
    return true
  }

  #join(): void {
    if (!this.recorder.keepsWhole) {
      this.#state = 'joined'
      this.#spans.most = MAX_JOINED_SPANS
    }
    this.#rootId ??= newSpanId()
  }

  #goLive(): void {
    this.#state = 'live'
    this.recorder.send(this, { kind: 'start', body: bodyText({ trace: this.#now({}, END_FIELDS) }) })
    // The start includes the metadata, so the end need not repeat it.
    this.members.clear()
    this.#sendScores()
    this.#sendSpans()
  }

  #sendSpans(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const spans = this.#takeSpans()
    if (spans.spans !== undefined) {
      this.recorder.send(this, this.#state === 'live' ? { kind: 'spans', body: bodyText(spans) } : this.#joined(spans))
    }
    this.#account()
  }

  #takeSpans(): { spans: string | undefined } {
    return { spans: listText(this.#spans.take().map(({ text }) => text)) }
  }

  #finishOnceRead(): void {
    if (![...this.#open].some(span => span.isStreaming)) this.#finish()
  }

  #finish(): void {
    for (const span of this.#open) span.end()
    if (this.isOver) return
    clearTimeout(this.#timer)
    const isRecorded = this.#isSampled || this.#state === 'live' || this.#hasFailedSpan || this.status === 'error'
    if (isRecorded) this.recorder.send(this, this.#lastPart())
    else this.#takeSpans()
    this.#state = 'over'
    if (isRecorded) this.#sendScores()
    this.#account()
    this.recorder.over(this)
  }

  #sendScores(): void {
    for (const part of this.#scores.splice(0)) this.recorder.send(this, part)
  }

  #lastPart(): TracePart {
    const spans = this.#takeSpans()
    if (this.#state === 'joined') {
      const more = { parentSpanId: renderJson(this.#parentSpanId), kind: quoted('chain') }
      return this.#joined({ ...spans, root: this.#now(more) })
    }
    return this.#state === 'live'
      ? { kind: 'end', body: this.#now({ ...SCHEMA, ...spans }, START_FIELDS) }
      : { kind: 'record', body: bodyText({ trace: this.#now(spans) }) }
  }

  #joined(members: Texts): TracePart {
    return { kind: 'joined', body: objectText([], { rootId: renderJson(this.#rootId), ...members }) }
  }

  /** Returns the trace's current state as JSON, except the fields in `without`. */
  #now(more: Texts, without?: readonly string[]): string {
    const cut = this.cuts + this.#spanCuts || undefined
    const said = renderJson({ spansLeftOut: this.#spans.leftOut, cut, notEnded: this.#isNotEnded || undefined })
    const metadata = membersText(said === '{}' ? this.members : new Map([...this.members, ['spoor', said!]]))
    const id = this.#state === 'joined' ? this.#rootId! : this.traceId
    return this.tell(id, this.used, { ...more, metadata }, without)
  }

  /** Reports the bytes held by this trace. Returns whether running traces hold too many bytes in total. */
  #account(): boolean {
    const now = this.#state === 'over' ? 0 : DOCUMENT_BYTES - this.room + this.#spans.bytes
    const change = now - this.#held
    this.#held = now
    return this.recorder.hold(change)
  }
}

export function scoreBody(
  name: string,
  given: ScoreValue,
  { comment, spanId }: ScoreOptions,
  redact: Redact | undefined
): string {
  const value = redactedScore(redact, given)
  const shown = redactedText(redact, 'scoreComment', comment)
  const type = typeof value
  const dataType = type === 'number' ? 'numeric' : type === 'boolean' ? 'boolean' : 'categorical'
  const fitting = type === 'string' ? (shortText(value, MAX_CATEGORY) ?? '') : value
  return JSON.stringify({ name, dataType, value: fitting, comment: shown && shortText(shown, MAX_COMMENT), spanId })
}
