/**
 * A running trace or span. Values become JSON when they are set, so later changes are not recorded. Oversized values
 * are cut. No method waits, and none throws, except if it has no function to run.
 */

import { MAX_EVENTS, MAX_NAME, MAX_TEXT } from '../api-types.ts'
import { utf8Length } from './bytes.ts'
import { type Clock, momentOf, type Time, timestamp } from './clock.ts'
import {
  addUsage,
  costOf,
  DOCUMENT_BYTES,
  kindOf,
  type RecordedUsage,
  type SpanKind,
  type Status,
  shortText,
  statusOf,
  usageOf
} from './fields.ts'
import { newSpanId } from './parents.ts'
import { listText, membersText, objectText, quoted, renderJson, type SpanRecord, type Texts } from './render.ts'
import { messageOf, type Redact, redactedText, writeValue } from './values.ts'

export interface StepOptions {
  readonly input?: unknown
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly usage?: RecordedUsage | undefined
  readonly costUsd?: number | undefined
  /** Start time; now by default. */
  readonly startedAt?: Time | undefined
}

export interface SpanOptions extends StepOptions {
  readonly kind?: SpanKind | undefined
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
}

export interface EndOptions {
  readonly output?: unknown
  readonly status?: Status | undefined
  readonly usage?: RecordedUsage | undefined
  readonly costUsd?: number | undefined
  /** End time; now by default. */
  readonly endedAt?: Time | undefined
}

export interface ScoreOptions {
  readonly comment?: string | undefined
  readonly spanId?: string | undefined
}
export type ScoreValue = number | string | boolean

interface StepRecorder {
  readonly redact: Redact | undefined
  run<R>(step: Step, act: () => R): R
  readonly problem: (text: string) => void
}

/** The members of a trace that its spans use. */
interface StepOwner {
  readonly traceId: string
  readonly clock: Clock
  readonly recorder: StepRecorder
  /** Address of the trace in the dashboard. */
  readonly url: string
  /** Attributes of each span of the trace. */
  readonly spanAttributes: Readonly<Record<string, unknown>> | undefined
  readonly isOver: boolean
  share(spanId: string): string
  score(name: string, value: ScoreValue, options?: ScoreOptions): unknown
  begun(span: Span): void
  parentOf(span: Span): string | undefined
  ended(span: Span, record: SpanRecord, said: Texts): void
}

type Used = Pick<StepOptions, 'usage' | 'costUsd'>

/** Options of traces and spans. A function that is observed may start either. */
const OPTIONS = `input model provider usage costUsd startedAt kind attributes sessionId userId tags metadata
  spanAttributes live parent name captureInput captureOutput`.split(/\s+/)

/** Number of bytes that the output must leave for attributes, metadata and events. */
const REST_BYTES = 60_000

export abstract class Step {
  readonly name: string
  /** Fields that were set, as JSON strings. */
  protected readonly said: Texts = {}
  /** A span's attributes or a trace's metadata, as JSON strings. */
  protected readonly members = new Map<string, string>()
  protected readonly startedAt: number
  protected endedAt: number | undefined
  protected status: Status | undefined
  protected usage: RecordedUsage | undefined
  protected costUsd: number | undefined
  /** Sum over nested steps, used if this step has no usage of its own. */
  protected usageBelow: RecordedUsage | undefined
  protected costBelow: number | undefined
  /** Number of bytes still available for values. */
  protected room = DOCUMENT_BYTES
  protected cuts = 0

  /** Whether the result of the step's function becomes the output. */
  keepsResult = true
  readonly #recorder: StepRecorder
  readonly #shownNames = new Map<string, string>()

  constructor(name: string, kind: 'traceName' | 'spanName', options: StepOptions, now: number, recorder: StepRecorder) {
    const { startedAt, model, provider, usage, costUsd } = options
    this.#recorder = recorder
    for (const option in options) {
      if (!OPTIONS.includes(option))
        this.report(`${option} is not an option of traces or spans; the options are ${OPTIONS.join(', ')}`)
    }
    this.name = shortText(redactedText(recorder.redact, kind, name), MAX_NAME) ?? 'unnamed'
    this.startedAt = this.#timeOr('startedAt', startedAt, now)
    this.setModel(model, provider).setUsage(usage).setCost(costUsd)
  }

  abstract readonly traceId: string
  /** Undefined for a trace without a parent span. */
  abstract readonly spanId: string | undefined
  protected abstract readonly owner: StepOwner
  /** Ends the step. Later calls do nothing. */
  abstract end(options?: EndOptions): void
  /** Records the error that made the step fail. */
  abstract recordError(error: unknown): void

  protected get report(): (problem: string) => void {
    return this.#recorder.problem
  }

  get isEnded(): boolean {
    return this.endedAt !== undefined
  }

  get hasOutput(): boolean {
    return this.said.output !== undefined
  }

  get hasStatus(): boolean {
    return this.status !== undefined
  }

  /** Number of cuts made in the step's values. */
  get cutCount(): number {
    return this.cuts
  }

  /** Address of the trace in the dashboard. */
  get url(): string {
    return this.owner.url
  }

  /** W3C `traceparent` header that lets another service's spans join this trace. */
  get traceparent(): string {
    return this.owner.share(this.spanId ?? '')
  }

  setInput(value: unknown): this {
    return this.#say('input', value)
  }

  setOutput(value: unknown): this {
    return this.#say('output', value)
  }

  setModel(model: string | undefined, provider?: string): this {
    const shown = redactedText(this.#recorder.redact, 'model', model)
    this.said.model = renderJson(shortText(shown, MAX_TEXT)) ?? this.said.model
    this.said.provider = renderJson(shortText(provider, MAX_TEXT)) ?? this.said.provider
    return this
  }

  setUsage(usage: RecordedUsage | undefined): this {
    this.usage = usageOf(usage, this.report) ?? this.usage
    return this
  }

  /** Sets the cost in US dollars. */
  setCost(costUsd: number | undefined): this {
    this.costUsd = costOf(costUsd, this.report) ?? this.costUsd
    return this
  }

  setStatus(status: Status): this {
    this.status = statusOf(status, this.report)
    return this
  }

  /** Attaches a score. If a name has several scores, the newest counts. */
  score(name: string, value: ScoreValue, options: ScoreOptions = {}): this {
    const { spanId } = this
    this.owner.score(name, value, spanId === undefined ? options : { spanId, ...options })
    return this
  }

  /** Starts a nested span, which the caller must end. */
  startSpan(name: string, options: SpanOptions = {}): Span {
    return new Span(this.owner, this, name, options)
  }

  /** Runs a function as a nested span. The function's result becomes the output, and an exception fails the span. */
  span<R>(name: string, act: (span: Span) => R): R
  span<R>(name: string, options: SpanOptions, act: (span: Span) => R): R
  span<R>(name: string, ...rest: [(span: Span) => R] | [SpanOptions, (span: Span) => R]): R {
    const [options, act] = optionsFirst(rest)
    const span = this.startSpan(name, options)
    return this.owner.recorder.run(span, () => act(span))
  }

  protected writeMembers(given: Readonly<Record<string, unknown>>, members = this.members): this {
    const isObject = typeof given === 'object'
    if (!isObject) this.report('attributes and metadata must be objects')
    for (const [name, value] of isObject ? Object.entries(given ?? {}) : []) {
      const text = this.#write(name, value, this.room / 2)
      if (text !== undefined) members.set(this.#shownName(name, members), text)
    }
    return this
  }

  /** Usage and cost that were set, or else the sums over nested steps. */
  protected get used(): Used {
    return { usage: this.usage ?? this.usageBelow, costUsd: this.costUsd ?? this.costBelow }
  }

  /** Returns the step's current state as JSON, except the fields in `without`. */
  protected tell(id: string, { usage, costUsd }: Used, more: Texts, without: readonly string[] = []): string {
    const { name, status = 'unset', startedAt, endedAt } = this
    const [start, end] = [quoted(timestamp(startedAt)), endedAt === undefined ? undefined : quoted(timestamp(endedAt))]
    const always = { id: quoted(id), name: renderJson(name), status: quoted(status), startedAt: start }
    const last = { endedAt: end, usage: renderJson(usage), costUsd: renderJson(costUsd) }
    return objectText(without, always, this.said, more, last)
  }

  /** Adds the usage and cost of a nested step. */
  addBelow(usage: RecordedUsage | undefined, costUsd: number | undefined): void {
    this.usageBelow = addUsage(this.usageBelow, usage)
    if (costUsd !== undefined) this.costBelow = (this.costBelow ?? 0) + costUsd
  }

  /** Applies the options of `end`. Returns false if the step has already ended. */
  protected close({ output, status, usage, costUsd, endedAt }: EndOptions): boolean {
    if (this.endedAt !== undefined) return false
    if (output !== undefined) this.setOutput(output)
    if (status !== undefined) this.setStatus(status)
    this.setUsage(usage)
    this.setCost(costUsd)
    this.endedAt = Math.max(this.startedAt, this.#timeOr('endedAt', endedAt, this.owner.clock.now()))
    return true
  }

  /** Returns the name under which a member is recorded. A repeated name replaces its earlier value. */
  #shownName(name: string, members: ReadonlyMap<string, string>): string {
    const { redact } = this.owner.recorder
    if (redact === undefined) return name
    const before = members === this.members ? this.#shownNames.get(name) : undefined
    if (before !== undefined) return before
    const given = redactedText(redact, '', name)
    let shown = given
    for (let number = 2; members.has(shown); number++) shown = `${given} ${number}`
    if (members === this.members) this.#shownNames.set(name, shown)
    return shown
  }

  /** Returns a given time, or `now`. A time that cannot be read is reported. */
  #timeOr(name: string, given: Time | undefined, now: number): number {
    const time = momentOf(given)
    if (time === undefined && given !== undefined && given !== null) {
      const rule = 'must be a Date, ISO 8601, or seconds or milliseconds since 1970'
      const text = messageOf(given).slice(0, 50)
      this.report(`${name} ${rule}, not ${text}`)
    }
    return time ?? now
  }

  #say(name: 'input' | 'output', value: unknown): this {
    this.room += utf8Length(this.said[name] ?? '')
    this.said[name] = this.#write(name, value, name === 'input' ? DOCUMENT_BYTES / 2 : this.room - REST_BYTES)
    return this
  }

  #write(name: string, value: unknown, bytes: number): string | undefined {
    const { redact } = this.owner.recorder
    const written = writeValue(name, value, { bytes: Math.max(0, Math.floor(bytes)), redact })
    if (written === undefined) return undefined
    this.room -= written.bytes
    this.cuts += written.cuts
    return written.text
  }
}

export class Span extends Step {
  readonly spanId = newSpanId()
  readonly parent: Step
  protected readonly owner: StepOwner
  #kind: SpanKind
  readonly #events: string[] = []
  #eventsLeftOut = 0
  /** Whether the application is still reading the span's result. The trace waits for such a span. */
  isStreaming = false

  constructor(owner: StepOwner, parent: Step, name: string, options: SpanOptions) {
    super(name, 'spanName', options, owner.clock.now(), owner.recorder)
    this.owner = owner
    this.parent = parent
    this.#kind = kindOf(options.kind, this.report)
    if (options.input !== undefined) this.setInput(options.input)
    for (const attributes of [owner.spanAttributes, options.attributes]) {
      if (attributes !== undefined) this.setAttributes(attributes)
    }
    if (owner.isOver) owner.recorder.problem(`span ${this.name} began after its trace had ended, and is not recorded`)
    else owner.begun(this)
  }

  get traceId(): string {
    return this.owner.traceId
  }

  get id(): string {
    return this.spanId
  }

  /** Whether the trace has been recorded, so that nothing can be added. */
  get isOver(): boolean {
    return this.owner.isOver
  }

  setKind(kind: SpanKind): this {
    this.#kind = kindOf(kind, this.report)
    return this
  }

  setAttributes(attributes: Readonly<Record<string, unknown>>): this {
    return this.writeMembers(attributes)
  }

  addEvent(name: string, attributes: Readonly<Record<string, unknown>> = {}): this {
    if (this.#events.length >= MAX_EVENTS) {
      this.#eventsLeftOut++
      return this
    }
    const members = new Map<string, string>()
    this.writeMembers(attributes, members)
    const event = {
      name: renderJson(shortText(redactedText(this.owner.recorder.redact, 'eventName', name), MAX_NAME) ?? 'event'),
      timestamp: quoted(timestamp(this.owner.clock.now())),
      attributes: membersText(members)
    }
    this.#events.push(objectText([], event))
    return this
  }

  recordError(error: unknown): void {
    this.setStatus('error')
    this.addEvent('exception', describeError(error))
  }

  end(options: EndOptions = {}): void {
    if (!this.close(options)) return
    const { spanId: id, parent, status = 'unset', members, cuts, usage, costUsd, used } = this
    const kind = this.#kind
    if (cuts > 0) members.set('spoor.cut', `${cuts}`)
    if (this.#eventsLeftOut > 0) members.set('spoor.eventsLeftOut', `${this.#eventsLeftOut}`)
    let above = parent
    while (above instanceof Span && above.isEnded) above = above.parent
    above.addBelow(used.usage, used.costUsd)
    const parentSpanId = this.owner.parentOf(this)
    const more = {
      parentSpanId: parentSpanId && quoted(parentSpanId),
      kind: quoted(kind),
      attributes: membersText(members),
      events: listText(this.#events)
    }
    const text = this.tell(id, { usage, costUsd }, more)
    const bytes = DOCUMENT_BYTES - this.room + BARE_BYTES + this.name.length
    this.owner.ended(this, { id, parentSpanId, kind, status, endedAt: this.endedAt!, text, bytes }, this.said)
  }
}

/** Estimated size of a span without its values, in bytes. */
const BARE_BYTES = 300

/** Returns the attributes of an `exception` event under OpenTelemetry's names. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { 'exception.message': error }
  return { 'exception.type': error.name, 'exception.message': messageOf(error), 'exception.stacktrace': error.stack }
}

/** Separates the options from the function. The options come first and may be omitted. */
export function optionsFirst<O extends object, F>(rest: readonly [F] | readonly [O, F]): [O, F] {
  const [options, act] = rest.length === 1 ? [{} as O, rest[0]] : [Object(rest[0]) as O, rest[1]]
  if (typeof act !== 'function') throw new TypeError('trace and span take (name, options, function)')
  return [options, act]
}
