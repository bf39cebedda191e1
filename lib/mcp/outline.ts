/**
 * Builds an outline of a trace for readers that cannot take in the whole trace: the span tree with the beginnings of
 * its values. Each cut value says how much is missing.
 */
import Type, { type Static } from 'typebox'
import { SPAN_KINDS, STATUSES } from '../schema/input.ts'
import { closed, named } from '../schema/object.ts'
import { SpanOutput, TraceDetail } from '../schema/output.ts'
import { stringifyExact } from '../trace/json/exact-json.ts'
import { leftOutOf } from '../trace/states/left-out.ts'

/** The parsed getTrace response. Free JSON in it may contain LosslessNumbers. */
export type Detail = Static<typeof TraceDetail>
type Span = Detail['spans'][number]

/**
 * Maximum number of bytes that a tool shows of a long response. Clients cut what they pass to their model: Gemini CLI
 * at 40,000 characters, Codex at 48,000 (test/torture/README.md, "agents").
 */
export const SHOWN_BYTES = 35_000

const CUT = 'Where it is long, a string: the beginning of its JSON, and how much is left out.'
const cuttable = (what: string) => Type.Unknown({ description: `${what} ${CUT}` })
const Bytes = Type.Integer({ minimum: 0, description: 'Size of the whole span as JSON: what it takes to fetch it.' })

const OutlineSpan = named('OutlineSpan', {
  depth: Type.Integer({ minimum: 0, description: 'The parent is the nearest span above that is one less deep.' }),
  id: SpanOutput.properties.id,
  name: Type.String(),
  kind: Type.Enum([...SPAN_KINDS]),
  status: Type.Enum([...STATUSES]),
  startedAt: Type.Optional(SpanOutput.properties.startedAt),
  durationMs: SpanOutput.properties.durationMs,
  model: Type.Optional(Type.String()),
  usage: Type.Optional(SpanOutput.properties.usage),
  costUsd: Type.Optional(SpanOutput.properties.costUsd),
  bytes: Bytes,
  input: Type.Optional(cuttable('What the step was given.')),
  output: Type.Optional(cuttable('What the step gave.')),
  attributes: Type.Optional(cuttable('What else is known of the step.')),
  events: Type.Optional(cuttable('Moments within the step.'))
})
type OutlineSpan = Static<typeof OutlineSpan>

const { input: _input, output: _output, metadata: _metadata, ...traceFields } = TraceDetail.properties.trace.properties

export const TraceOutline = named('TraceOutline', {
  detail: Type.Literal('outline'),
  note: Type.String({ description: 'What is left out, and how to get it.' }),
  trace: closed({
    ...traceFields,
    input: cuttable('What the run was given.'),
    output: cuttable('What the run gave.'),
    metadata: cuttable('What else is known of the run.')
  }),
  spans: Type.Array(OutlineSpan, { description: 'As a tree, depth first: each span is followed by its children.' }),
  scoreCount: Type.Integer({ minimum: 0 })
})
export type TraceOutline = Static<typeof TraceOutline>

/** Maximum bytes of JSON shown per value of the trace, per span value, and per name. */
interface Room {
  readonly traceValue: number
  /** 0 hides span values. */
  readonly spanValue: number
  readonly name: number
  readonly hasFacts: boolean
}

/**
 * Sizes in order of preference. The first that makes the outline short enough is used; with the last, 200 spans with
 * short names fit.
 */
const ROOMS: readonly Room[] = [
  { traceValue: 4000, spanValue: 400, name: 500, hasFacts: true },
  { traceValue: 1500, spanValue: 120, name: 120, hasFacts: true },
  { traceValue: 500, spanValue: 0, name: 40, hasFacts: true },
  { traceValue: 200, spanValue: 0, name: 20, hasFacts: false }
]
const SPAN_VALUES = ['input', 'output', 'attributes', 'events'] as const
const FACTS = ['startedAt', 'model', 'usage', 'costUsd'] as const

export interface OutlineOptions {
  /** Whether the detail may contain LosslessNumbers. */
  readonly inexact: boolean
  /** Size of the detail as JSON, in bytes. */
  readonly bytes: number
  /** Whether the outline is the text that accompanies the whole trace (long-result.ts). */
  readonly isText?: boolean
}

/** Returns the outline as JSON text. */
export function outlineTrace(detail: Detail, { inexact, bytes, isText = false }: OutlineOptions): string {
  const spans = inTreeOrder(detail.spans).map(placed => measure(placed, inexact))
  let text = ''
  for (const room of ROOMS) {
    const outline: TraceOutline = {
      detail: 'outline',
      note: [...noteOf(bytes, room, isText), ...notStored(detail.trace.metadata), ...(isText ? [STRUCTURED] : [])].join(
        ' '
      ),
      trace: outlineOfTrace(detail.trace, room, inexact),
      spans: spans.map(span => outlineOfSpan(span, room)),
      scoreCount: detail.scores.length
    }
    text = stringifyExact(outline, inexact)
    if (Buffer.byteLength(text) < SHOWN_BYTES) break
  }
  return text
}

/** A span at its position in the tree, with its values that are neither null nor empty. */
interface Measured extends Placed<Span> {
  readonly bytes: number
  readonly values: readonly { readonly field: (typeof SPAN_VALUES)[number]; readonly value: unknown; json: string }[]
}

function measure({ span, depth }: Placed<Span>, inexact: boolean): Measured {
  const values = SPAN_VALUES.map(field => ({ field, value: span[field], json: stringifyExact(span[field], inexact) }))
  return {
    span,
    depth,
    bytes: Buffer.byteLength(stringifyExact(span, inexact)),
    values: values.filter(({ json }) => !['null', '{}', '[]'].includes(json))
  }
}

function outlineOfTrace(trace: Detail['trace'], room: Room, inexact: boolean): TraceOutline['trace'] {
  const cut = (value: unknown) => cutValue(value, stringifyExact(value, inexact), room.traceValue)
  const { input, output, metadata } = trace
  return { ...trace, input: cut(input), output: cut(output), metadata: cut(metadata) }
}

function outlineOfSpan({ span, depth, bytes, values }: Measured, room: Room): OutlineSpan {
  const { id, kind, status, startedAt, durationMs, model, usage, costUsd } = span
  const shown = room.spanValue === 0 ? [] : values
  return {
    depth,
    id,
    name: cutOutlineText(span.name, room.name),
    kind,
    status,
    ...(room.hasFacts && { startedAt }),
    durationMs,
    ...(room.hasFacts && model !== null && { model: cutOutlineText(model, room.name) }),
    ...(room.hasFacts && usage !== null && { usage }),
    ...(room.hasFacts && costUsd !== null && { costUsd }),
    bytes,
    ...Object.fromEntries(shown.map(({ field, value, json }) => [field, cutValue(value, json, room.spanValue)]))
  }
}

/** Returns the value itself, or the beginning of its JSON if the JSON is longer than `maxBytes`. */
function cutValue(value: unknown, json: string, maxBytes: number): unknown {
  const text = cutOutlineText(json, maxBytes)
  return text === json ? value : text
}

/** Size of the mark on a cut string. Cutting saves nothing unless it removes more than the mark adds. */
const MARK_BYTES = 50

export function cutOutlineText(text: string, maxBytes: number): string {
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxBytes + MARK_BYTES) return text
  const start = beginning(text, maxBytes)
  return `${start}… [${bytes - Buffer.byteLength(start)} of ${bytes} bytes left out]`
}

/** Returns the longest prefix of whole characters that takes at most `maxBytes` bytes. */
export function beginning(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes))
  // A byte 10xxxxxx continues a character.
  let end = Math.min(maxBytes, bytes.length)
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** Describes how to read more, then what is omitted. Some clients show their model only the first 500 characters. */
function noteOf(bytes: number, { traceValue, spanValue, name, hasFacts }: Room, isText: boolean): string[] {
  const cut = [
    `input, output and metadata of the trace beyond about ${traceValue} bytes each`,
    ...(spanValue === 0 ? [] : [`${listed(SPAN_VALUES)} of spans beyond about ${spanValue} bytes each`]),
    `names${hasFacts ? ' and models' : ''} of spans beyond about ${name} bytes`
  ]
  const leftOut = [
    ...(spanValue === 0 ? [`${listed(SPAN_VALUES)} of all spans`] : []),
    ...(hasFacts ? [] : [`${listed(FACTS)} of all spans`]),
    'what is null or empty in a span',
    'traceId, parentSpanId (depth says it), endedAt and provider of spans',
    'the scores, which are only counted'
  ]
  return [
    `This is an outline of a trace of ${bytes} bytes.`,
    'To read whole spans, call get_trace with spanIds: the ids are below.',
    "To read the trace's own input, output or metadata in parts, call it with field.",
    ...(isText ? [] : ['To read everything, call it with detail "full".']),
    'To read the scores, call get_trace_scores.',
    `Cut, with a mark of how much is missing: ${cut.join('; ')}.`,
    `Left out: ${leftOut.join('; ')}.`
  ]
}

/** Placed last, because a model that reads only the text cannot use it. */
const STRUCTURED = 'Clients that read structuredContent have the whole trace.'

/** Reports spans that were not stored. The metadata also has this information but may be cut. */
function notStored(metadata: object): string[] {
  const leftOut = leftOutOf(metadata)
  if (leftOut === undefined) return []
  const kinds = Object.entries(leftOut.kinds).map(([kind, count]) => `${count} ${cutOutlineText(kind, KIND_BYTES)}`)
  const shown = kinds.slice(0, SPAN_KINDS.length)
  return [
    `The run had ${leftOut.count} more spans, which are not stored${shown.length === 0 ? '' : `: ${shown.join(', ')}`}.`
  ]
}

/** Maximum bytes shown of a kind, because clients may write any kind into the metadata. */
const KIND_BYTES = 40

const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

interface Node {
  readonly id: string
  readonly parentSpanId: string | null
}
interface Placed<T> {
  readonly span: T
  /** Depth in the tree, 0 at the top. */
  readonly depth: number
}

/**
 * Orders spans depth first. Each span is followed by its children in their original order. The top level has spans
 * without a parent, spans with a missing parent, and one span of each parent cycle.
 */
export function inTreeOrder<T extends Node>(spans: readonly T[]): Placed<T>[] {
  const children = childrenById(spans)
  const order: Placed<T>[] = []
  const seen = new Set<T>()
  const visit = (top: T) => {
    const stack: Placed<T>[] = [{ span: top, depth: 0 }]
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      if (seen.has(next.span)) continue
      seen.add(next.span)
      order.push(next)
      const depth = next.depth + 1
      for (const child of (children.get(next.span.id) ?? []).toReversed()) stack.push({ span: child, depth })
    }
  }
  for (const span of spans) if (span.parentSpanId === null || !children.has(span.parentSpanId)) visit(span)
  // A span not yet reached is part of a cycle or below one.
  for (const span of spans) visit(span)
  return order
}

/** Returns every span's children by span id; empty for a span without children. */
function childrenById<T extends Node>(spans: readonly T[]): Map<string, T[]> {
  const children = new Map<string, T[]>(spans.map(span => [span.id, []]))
  for (const span of spans) if (span.parentSpanId !== null) children.get(span.parentSpanId)?.push(span)
  return children
}
