/** Traces and spans as the texts of request bodies. */
import { timestamp } from './clock.ts'
import type { SpanKind, Status, Usage } from './fields.ts'

/** A finished span. Its values are JSON texts already. */
export interface SpanRecord {
  readonly id: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: SpanKind
  readonly status: Status
  readonly startedAt: number
  readonly endedAt: number
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly input: string | undefined
  readonly output: string | undefined
  readonly attributes: readonly Member[]
  readonly events: readonly EventRecord[]
  readonly usage: Usage | undefined
  readonly costUsd: number | undefined
  /** About as many bytes as its text has. */
  readonly bytes: number
}

export interface EventRecord {
  readonly name: string
  readonly at: number
  readonly attributes: readonly Member[]
}

/** A member of an object: its name, and its value as JSON text. */
export type Member = readonly [name: string, text: string]

/** What a trace is started with. */
export interface TraceHead {
  readonly id: string
  readonly name: string
  readonly startedAt: number
  readonly sessionId: string | undefined
  readonly userId: string | undefined
  readonly input: string | undefined
}

/** What may be said at the start and at the end. */
export interface TraceState {
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly tags: readonly string[]
  readonly metadata: readonly Member[]
}

export interface TraceEnd extends TraceState {
  readonly status: Status
  readonly endedAt: number
  readonly output: string | undefined
  readonly usage: Usage | undefined
  readonly costUsd: number | undefined
}

type Spans = readonly SpanRecord[]

/** The body that records a trace whole. */
export function recordBody(head: TraceHead, end: TraceEnd, spans: Spans): string {
  return `{"schemaVersion":1,"trace":{${headMembers(head)}${endMembers(end)}${spanList(spans)}}}`
}

/** The body that starts a running trace. */
export function startBody(head: TraceHead, state: TraceState): string {
  return `{"schemaVersion":1,"trace":{${headMembers(head)}${stateMembers(state)}}}`
}

export function spansBody(spans: Spans): string {
  return `{"schemaVersion":1${spanList(spans)}}`
}

/** The body that ends a running trace. */
export function endBody(end: TraceEnd, spans: Spans): string {
  return `{"schemaVersion":1${endMembers(end)}${spanList(spans)}}`
}

function headMembers({ id, name, startedAt, sessionId, userId, input }: TraceHead): string {
  const required = `"id":"${id}","name":${JSON.stringify(name)},"startedAt":"${timestamp(startedAt)}"`
  return required + text('sessionId', sessionId) + text('userId', userId) + json('input', input)
}

function stateMembers({ provider, model, tags, metadata }: TraceState): string {
  const rest = tags.length === 0 ? '' : `,"tags":${JSON.stringify(tags)}`
  return text('provider', provider) + text('model', model) + rest + members('metadata', metadata)
}

function endMembers(end: TraceEnd): string {
  const required = `,"status":"${end.status}","endedAt":"${timestamp(end.endedAt)}"`
  return required + stateMembers(end) + json('output', end.output) + amounts(end)
}

const spanList = (spans: Spans) => (spans.length === 0 ? '' : `,"spans":[${spans.map(spanText).join(',')}]`)

export function spanText(span: SpanRecord): string {
  const parent = span.parentSpanId === undefined ? '' : `,"parentSpanId":"${span.parentSpanId}"`
  const events = span.events.length === 0 ? '' : `,"events":[${span.events.map(eventText).join(',')}]`
  return (
    `{"id":"${span.id}"${parent},"name":${JSON.stringify(span.name)},"kind":"${span.kind}","status":"${span.status}"` +
    `,"startedAt":"${timestamp(span.startedAt)}","endedAt":"${timestamp(span.endedAt)}"` +
    `${text('provider', span.provider)}${text('model', span.model)}${json('input', span.input)}` +
    `${json('output', span.output)}${members('attributes', span.attributes)}${events}${amounts(span)}}`
  )
}

function eventText({ name, at, attributes }: EventRecord): string {
  return `{"name":${JSON.stringify(name)},"timestamp":"${timestamp(at)}"${members('attributes', attributes)}}`
}

function amounts({ usage, costUsd }: Pick<TraceEnd, 'usage' | 'costUsd'>): string {
  const used = usage === undefined ? '' : `,"usage":${JSON.stringify(usage)}`
  return costUsd === undefined ? used : `${used},"costUsd":${costUsd}`
}

const text = (name: string, value: string | undefined) =>
  value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`

const json = (name: string, value: string | undefined) => (value === undefined ? '' : `,"${name}":${value}`)

function members(name: string, list: readonly Member[]): string {
  if (list.length === 0) return ''
  // Of the same name the last one counts.
  const texts = [...new Map(list)].map(([key, value]) => `${JSON.stringify(key)}:${value}`)
  return `,"${name}":{${texts.join(',')}}`
}
