/**
 * Joins spans with data that arrived separately as log records: messages of model calls, events, and token counts and
 * costs of coding agents' calls. A record's input, output, tokens and cost are shown only on a span that was sent
 * without the value in question.
 */
import { MAX_EVENTS } from '../schema/input.ts'
import { sumKnown } from './span-sums.ts'
import { isBefore } from './timestamp.ts'

/** A log record's addition to its span. JSON values are strings; null if absent. */
export interface SpanMessages {
  readonly spanId: string
  /**
   * Time of the record, in microseconds since 1970. A span's messages are ordered by time, then by their position in
   * the export.
   */
  readonly micros: number
  readonly place: number
  /** 32 hexadecimal digits. A resent record has the same digest. */
  readonly digest: string
  /** Arrays of messages, or a tool's arguments and result. */
  readonly input: string | null
  readonly output: string | null
  /** A SpanEvent as JSON. */
  readonly event?: string | null
  /** CallFacts as JSON. */
  readonly facts?: string | null
  /**
   * The record's call, such as `request:req_1` or `tool:toolu_2` (lib/trace/call-details.ts). The record belongs to the
   * span of this call rather than to `spanId`.
   */
  readonly call?: string | null
  /** The span of `call`, once it has arrived. */
  readonly target?: string | undefined
}

/** A span's messages together with the span's trace id. */
export interface PlacedMessages extends SpanMessages {
  readonly traceId: string
}

interface Tokens {
  readonly inputTokens?: number | null
  readonly outputTokens?: number | null
  readonly totalTokens?: number | null
}

/** Token counts and cost of a call, for a call whose span lacks them. */
export interface CallFacts extends Tokens {
  readonly costUsd?: number
}

interface Texts {
  readonly input: string | null
  readonly output: string | null
}
interface Span extends Texts, Tokens {
  readonly id: string
  readonly kind?: string
  readonly parentSpanId: string | null
  readonly startedAt: string
  readonly endedAt: string
  readonly events?: string | null
  readonly costUsd?: number | null
}

/**
 * Uses `messages`, which must be in order, to fill in values that spans lack. A trace without input takes the filled-in
 * input of its parentless span, or else of its earliest span. A trace without output takes the filled-in output of its
 * parentless span, or else of its latest span. Tools' arguments and results are never used as the trace's input or
 * output.
 */
export function joinMessages<T extends Texts, S extends Span>(
  trace: T,
  spans: readonly S[],
  messages: readonly SpanMessages[]
): { trace: T; spans: readonly S[] } {
  if (messages.length === 0) return { trace, spans }
  const joined = fillSpans(spans, messages)
  return { trace: withSpoken(trace, findSpeakers(spans, joined)), spans: joined }
}

/** Fills in values that spans lack from `messages`, which must be in order. Messages of other spans are ignored. */
export function fillSpans<S extends Span>(spans: readonly S[], messages: readonly SpanMessages[]): readonly S[] {
  const bySpan = new Map<string, SpanMessages[]>()
  for (const each of messages) {
    const id = each.target ?? each.spanId
    const own = bySpan.get(id)
    if (own === undefined) bySpan.set(id, [each])
    else own.push(each)
  }
  return spans.map(span => {
    const heard = bySpan.get(span.id)
    return heard === undefined ? span : joinSpan(span, heard)
  })
}

/** The spans whose filled-in input and output a trace takes if it has none of its own. */
export interface Speakers<S> {
  readonly first?: S | undefined
  readonly last?: S | undefined
}

/**
 * Returns the speakers among `joined`, which is `spans` with messages filled in, and the speakers found so far among
 * earlier spans.
 */
export function findSpeakers<S extends Span>(
  spans: readonly S[],
  joined: readonly S[],
  soFar: Speakers<S> = {}
): Speakers<S> {
  const level = ({ parentSpanId }: S) => (parentSpanId === null ? 0 : 1)
  const speaks = ({ kind }: S) => kind !== 'tool'
  const asked = joined.filter((span, i) => span.input !== spans[i]!.input && speaks(span))
  const answered = joined.filter((span, i) => span.output !== spans[i]!.output && speaks(span))
  if (soFar.first !== undefined) asked.unshift(soFar.first)
  if (soFar.last !== undefined) answered.unshift(soFar.last)
  const [first] = asked.sort((a, b) => level(a) - level(b) || (isBefore(a.startedAt, b.startedAt) ? -1 : 1))
  const [last] = answered.sort((a, b) => level(a) - level(b) || (isBefore(b.endedAt, a.endedAt) ? -1 : 1))
  return { first, last }
}

/** Returns the trace with the speakers' input and output if it has none of its own. */
export function withSpoken<T extends Texts>(trace: T, { first, last }: Speakers<Texts>): T {
  return { ...trace, input: trace.input ?? first?.input ?? null, output: trace.output ?? last?.output ?? null }
}

function joinSpan<S extends Span>(span: S, unordered: readonly SpanMessages[]): S {
  // Records that name the span and records that name the span's call are each in order, but not when combined.
  const heard = [...unordered].sort(
    (a, b) => a.micros - b.micros || a.place - b.place || (a.digest < b.digest ? -1 : 1)
  )
  const texts = {
    ...span,
    input: span.input ?? joinTexts(heard, 'input'),
    output: span.output ?? joinTexts(heard, 'output')
  }
  const events = joinEvents(span.events, heard)
  return { ...texts, ...(events !== undefined && { events }), ...joinFacts(span, heard) }
}

/** Concatenates JSON arrays. A value that is not an array is kept as is. Returns null if there are no values. */
function joinTexts(said: readonly SpanMessages[], side: 'input' | 'output'): string | null {
  const texts = said.map(each => each[side]).filter(text => text !== null)
  const single = texts.find(text => !text.startsWith('['))
  if (single !== undefined || texts.length === 0) return single ?? null
  return `[${texts.map(text => text.slice(1, -1)).join(',')}]`
}

/** Adds record events after the span's own events, up to MAX_EVENTS in all. Returns undefined if nothing is added. */
function joinEvents(own: string | null | undefined, heard: readonly SpanMessages[]): string | undefined {
  const added = heard.map(({ event }) => event).filter(event => event != null)
  if (added.length === 0 || own === undefined) return undefined
  const before = own === null ? 0 : (JSON.parse(own) as unknown[]).length
  const fitting = added.slice(0, Math.max(0, MAX_EVENTS - before))
  return `[${[...(before === 0 ? [] : [(own as string).slice(1, -1)]), ...fitting].join(',')}]`
}

/** Returns the tokens and the cost that the span lacks. */
function joinFacts(span: Span, heard: readonly SpanMessages[]): Partial<Span> {
  const facts = heard.flatMap(({ facts }) => (facts == null ? [] : [JSON.parse(facts) as CallFacts]))
  if (facts.length === 0) return {}
  const sum = (field: keyof CallFacts) => sumKnown(facts.map(each => each[field]))
  const hasUsage = span.inputTokens != null || span.outputTokens != null || span.totalTokens != null
  const usage = { inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens'), totalTokens: sum('totalTokens') }
  return { ...(!hasUsage && usage), costUsd: span.costUsd ?? sum('costUsd') }
}

/** The fields of a message that determine the span of its call. */
export type CallMessage = Pick<PlacedMessages, 'traceId' | 'micros' | 'call' | 'target'>

/** A span that may belong to a record's call. `calls` holds the names of the span's calls, as in SpanMessages. */
export interface CallSpan {
  readonly traceId: string
  readonly id: string
  readonly calls: readonly string[]
  readonly startMicros: number
  readonly endMicros: number
}

/**
 * Returns the messages with the spans of their calls. If several spans have a call's id, chooses the span whose end is
 * nearest to the record, because agents write a record when a call ends.
 */
export function findTargets<T extends CallMessage>(messages: readonly T[], spans: readonly CallSpan[]): T[] {
  const byCall = new Map<string, CallSpan[]>()
  for (const span of spans) {
    for (const call of span.calls) {
      const key = `${span.traceId} ${call}`
      byCall.set(key, [...(byCall.get(key) ?? []), span])
    }
  }
  return messages.map(each => {
    const found = each.call == null ? undefined : byCall.get(`${each.traceId} ${each.call}`)
    if (found === undefined) return each
    const distance = ({ endMicros }: CallSpan) => Math.abs(endMicros - each.micros)
    const [nearest] = [...found].sort(
      (a, b) => distance(a) - distance(b) || a.startMicros - b.startMicros || (a.id < b.id ? -1 : 1)
    )
    return { ...each, target: (nearest as CallSpan).id }
  })
}
