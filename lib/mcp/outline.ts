/**
 * Builds an outline of a trace for readers that cannot process the whole trace: the span tree with the beginnings of
 * its values. A mark on each truncated value says how much is missing.
 */
import Type, { type Static } from 'typebox'
import { refuseField } from '../http/refuse.ts'
import { SPAN_KINDS, STATUSES } from '../schema/input.ts'
import { closed, named } from '../schema/object.ts'
import { SpanOutput, TraceDetail } from '../schema/output.ts'
import { stringifyExact } from '../trace/json/exact-json.ts'
import { leftOutOf } from '../trace/states/left-out.ts'
import { inTreeOrder, type Placed, type TreeNode } from '../trace/tree-order.ts'

/** The parsed getTrace response. Free-form JSON in the response may contain LosslessNumbers. */
export type Detail = Static<typeof TraceDetail>
type Span = Detail['spans'][number]

/**
 * Maximum number of bytes of a long response that a tool shows. Clients truncate the results that they pass to their
 * model: Gemini CLI at 40,000 characters, Codex at 48,000 (test/torture/README.md, "agents").
 */
export const SHOWN_BYTES = 35_000
/** Maximum number of bytes of a result that a tool returns unless the call asks for more. */
export const USUAL_BYTES = 8000

const CUT = 'A long value is replaced by a string with the beginning of its JSON and the size of the rest.'
const cuttable = (what: string) => Type.Unknown({ description: `${what} ${CUT}` })
const Bytes = Type.Integer({
  minimum: 0,
  description: 'The size of the full span as JSON, in bytes.'
})

const OutlineSpan = named('OutlineSpan', {
  depth: Type.Integer({
    minimum: 0,
    description:
      'The depth in the tree. The parent is the nearest preceding span one level up, possibly in an earlier part.'
  }),
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
  input: Type.Optional(cuttable('The input of the step.')),
  output: Type.Optional(cuttable('The output of the step.')),
  attributes: Type.Optional(cuttable('Additional data about the step.')),
  events: Type.Optional(cuttable('Events within the step.'))
})
type OutlineSpan = Static<typeof OutlineSpan>

const { input: _input, output: _output, metadata: _metadata, ...traceFields } = TraceDetail.properties.trace.properties

export const TraceOutline = named('TraceOutline', {
  detail: Type.Literal('outline'),
  note: Type.String({ description: 'Says what is left out and how to get it.' }),
  trace: closed({
    ...traceFields,
    input: cuttable('The input of the run.'),
    output: cuttable('The output of the run.'),
    metadata: cuttable('Additional data about the run.')
  }),
  spans: Type.Array(OutlineSpan, {
    description: 'The spans as a tree, depth first: each span is followed by its children.'
  }),
  nextAfter: Type.Optional(
    Type.String({
      description: 'To get the next part of the tree, pass this value as `after`. Absent if no more spans follow.'
    })
  ),
  scoreCount: Type.Integer({ minimum: 0 })
})
export type TraceOutline = Static<typeof TraceOutline>

/** Maximum number of bytes of JSON shown per value of the trace, per span value, and per name. */
interface Room {
  readonly traceValue: number
  /** If 0, span values are hidden. */
  readonly spanValue: number
  readonly name: number
  readonly hasFacts: boolean
}

/**
 * Sizes in order of preference. The outline uses the first entry that makes the outline short enough. With the last
 * entry, 200 spans with short names fit. If not all spans fit, the outline shows part of the tree.
 */
const ROOMS: readonly Room[] = [
  { traceValue: 4000, spanValue: 400, name: 500, hasFacts: true },
  { traceValue: 1500, spanValue: 120, name: 120, hasFacts: true },
  { traceValue: 500, spanValue: 60, name: 80, hasFacts: true },
  { traceValue: 500, spanValue: 0, name: 40, hasFacts: true },
  { traceValue: 200, spanValue: 0, name: 20, hasFacts: false }
]
/** Sizes for an outline of the first part of the tree, and of a later part. */
const PART_ROOMS: { readonly [part in 'first' | 'later']: Room } = {
  first: { traceValue: 1500, spanValue: 0, name: 80, hasFacts: true },
  later: { traceValue: 200, spanValue: 0, name: 80, hasFacts: true }
}
const SPAN_VALUES = ['input', 'output', 'attributes', 'events'] as const
const FACTS = ['startedAt', 'model', 'usage', 'costUsd'] as const

export interface OutlineOptions {
  /** Whether the detail may contain LosslessNumbers. */
  readonly inexact: boolean
  /** Size of the detail as JSON, in bytes. */
  readonly bytes: number
  /** Whether the outline is the text that accompanies the whole trace (long-result.ts). */
  readonly isText?: boolean
  /** Maximum size of the outline in bytes. The default is SHOWN_BYTES. */
  readonly most?: number
  /** If set, the outline shows the spans that follow the span with this id in the tree. */
  readonly after?: string | undefined
}

/** The parts of a trace from which an outline is made. */
export interface OutlineSource {
  readonly trace: Detail['trace']
  readonly spans: readonly PlannedSpan[]
  readonly scoreCount: number
}

/** Returns the outline as JSON text. */
export function outlineTrace({ trace, spans, scores }: Detail, options: OutlineOptions): string {
  const measured = spans.map(span => planSpan(span, options.inexact))
  return outlineOf({ trace, spans: measured, scoreCount: scores.length }, options)
}

export function outlineOf(source: OutlineSource, options: OutlineOptions): string {
  const { inexact, bytes, isText = false, after, most = SHOWN_BYTES } = options
  const ordered = inTreeOrder(source.spans)
  const begin = after === undefined ? 0 : ordered.findIndex(({ span }) => span.id === after) + 1
  if (after !== undefined && begin === 0) refuseField('after', 'is not the id of a span in this trace')
  const placed = ordered.slice(begin)
  const textOf = (room: Room, spans: readonly OutlineSpan[], part: Part | undefined): string => {
    const note = [
      ...noteOf(bytes, room, isText, part),
      ...(most < SHOWN_BYTES ? [LONGER] : []),
      ...notStored(source.trace.metadata)
    ]
    const outline: TraceOutline = {
      detail: 'outline',
      note: [...note, ...(isText ? [STRUCTURED] : [])].join(' '),
      trace: outlineOfTrace(source.trace, room, inexact),
      spans: [...spans],
      ...(part?.next !== undefined && { nextAfter: part.next }),
      scoreCount: source.scoreCount
    }
    return stringifyExact(outline, inexact)
  }
  if (showsValues(placed.length, after)) {
    for (const room of ROOMS) {
      const text = textOf(
        room,
        placed.map(each => outlineOfSpan(each, room)),
        undefined
      )
      if (Buffer.byteLength(text) < most || (room === ROOMS.at(-1) && placed.length <= 1)) return text
    }
  }
  const usual = PART_ROOMS[after === undefined ? 'first' : 'later']
  const room = { ...usual, traceValue: Math.min(usual.traceValue, most / 16) }
  const part = { from: begin, to: ordered.length, of: ordered.length, next: after ?? LONGEST_ID }
  let left = most - Buffer.byteLength(textOf(room, [], part))
  const shown: OutlineSpan[] = []
  for (const each of placed) {
    const span = outlineOfSpan(each, room)
    left -= Buffer.byteLength(stringifyExact(span, inexact)) + 1
    if (left <= 0 && shown.length > 0) break
    shown.push(span)
  }
  const next = shown.length < placed.length ? shown.at(-1)?.id : undefined
  return textOf(room, shown, { from: begin, to: begin + shown.length, of: ordered.length, next })
}

/** Number of spans above which a trace never fits into one outline. */
const MOST_WHOLE = 400
const LONGEST_ID = '0'.repeat(16)

/** Returns whether the outline of a trace with `spans` spans may show span values. An outline of a part never does. */
export const showsValues = (spans: number, after: string | undefined): boolean =>
  after === undefined && spans <= MOST_WHOLE

/** The part of the tree that an outline shows. */
interface Part {
  readonly from: number
  readonly to: number
  readonly of: number
  /** Id of the last span of the part; undefined if no spans follow. */
  readonly next: string | undefined
}

/** A span in the tree. A span of a long trace is parsed and measured only if the outline shows the span. */
export interface PlannedSpan extends TreeNode {
  measure(): MeasuredSpan
}

/** A span with the beginnings of its values, except values that are null or empty. */
export interface MeasuredSpan extends Omit<Span, (typeof SPAN_VALUES)[number]> {
  readonly bytes: number
  readonly values: readonly MeasuredValue[]
}

interface MeasuredValue {
  readonly field: (typeof SPAN_VALUES)[number]
  /** The value's JSON, truncated to the maximum length that an outline shows. */
  readonly json: string
  readonly bytes: number
  /** The value itself; undefined if `json` is truncated. */
  readonly value: unknown
}

/** Measures a span that is parsed already. */
export function planSpan(span: Span, inexact: boolean): PlannedSpan {
  const measured = measureSpan(span, inexact)
  return { id: span.id, parentSpanId: span.parentSpanId, measure: () => measured }
}

export function measureSpan(span: Span, inexact: boolean): MeasuredSpan {
  const { input: _input, output: _output, attributes: _attributes, events: _events, ...head } = span
  const values = SPAN_VALUES.flatMap((field): MeasuredValue[] => {
    const json = stringifyExact(span[field], inexact)
    if (['null', '{}', '[]'].includes(json)) return []
    const bytes = Buffer.byteLength(json)
    const isShort = bytes <= LONGEST_VALUE
    return [
      { field, bytes, json: isShort ? json : beginning(json, LONGEST_VALUE), value: isShort ? span[field] : undefined }
    ]
  })
  return { ...head, bytes: Buffer.byteLength(stringifyExact(span, inexact)), values }
}

function outlineOfTrace(trace: Detail['trace'], room: Room, inexact: boolean): TraceOutline['trace'] {
  const cut = (value: unknown) => cutValue(value, stringifyExact(value, inexact), room.traceValue)
  const { input, output, metadata } = trace
  return { ...trace, input: cut(input), output: cut(output), metadata: cut(metadata) }
}

function outlineOfSpan({ span: planned, depth }: Placed<PlannedSpan>, room: Room): OutlineSpan {
  const span = planned.measure()
  const { id, kind, status, startedAt, durationMs, model, usage, costUsd, bytes, values } = span
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
    ...Object.fromEntries(
      shown.map(({ field, value, json, bytes }) => [field, cutValue(value, json, room.spanValue, bytes)])
    )
  }
}

/** Returns the value itself, or the beginning of its JSON if the JSON is longer than `maxBytes`. */
function cutValue(value: unknown, json: string, maxBytes: number, bytes = Buffer.byteLength(json)): unknown {
  const text = cutOutlineText(json, maxBytes, bytes)
  return text === json ? value : text
}

/**
 * Size of the mark at the end of a truncated string, in bytes. Truncation saves space only if the removed text is
 * longer than the mark.
 */
const MARK_BYTES = 50

/** Maximum number of bytes of a span value's JSON that an outline shows. */
const LONGEST_VALUE = 400 + MARK_BYTES

/**
 * Truncates a string and adds a mark. If `text` is only the beginning of a longer string, `bytes` is the size of the
 * whole string.
 */
export function cutOutlineText(text: string, maxBytes: number, bytes = Buffer.byteLength(text)): string {
  if (bytes <= maxBytes + MARK_BYTES) return text
  const start = beginning(text, maxBytes)
  return `${start}… [${bytes - Buffer.byteLength(start)} of ${bytes} bytes left out]`
}

/** Returns the longest prefix of whole characters that takes at most `maxBytes` bytes. */
export function beginning(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes))
  // A byte of the form 10xxxxxx continues a character.
  let end = Math.min(maxBytes, bytes.length)
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/**
 * Explains how to read more, and then lists the omissions. Some clients show their model only the first 500 characters.
 */
function noteOf(
  bytes: number,
  { traceValue, spanValue, name, hasFacts }: Room,
  isText: boolean,
  part: Part | undefined
): string[] {
  const cut = [
    `the trace's input, output and metadata, after about ${traceValue} bytes each`,
    ...(spanValue === 0 ? [] : [`${listed(SPAN_VALUES)} of spans, after about ${spanValue} bytes each`]),
    `names${hasFacts ? ' and models' : ''} of spans, after about ${name} bytes`
  ]
  const leftOut = [
    ...(spanValue === 0 ? [`${listed(SPAN_VALUES)} of all spans`] : []),
    ...(hasFacts ? [] : [`${listed(FACTS)} of all spans`]),
    'null and empty span fields',
    'traceId, parentSpanId (see depth), endedAt and provider of spans',
    'the scores (only their number is shown)'
  ]
  return [
    `This is an outline of a trace of ${bytes} bytes.`,
    ...(part === undefined ? [] : [`It contains spans ${part.from + 1} to ${part.to} of ${part.of}, in tree order.`]),
    ...(part?.next === undefined
      ? []
      : ['To read the next ones, call get_trace with `after` set to the nextAfter value below.']),
    'To read full spans, call get_trace with spanIds; the ids are below.',
    "To read the trace's own input, output or metadata in parts, call it with `field`.",
    ...(isText ? [] : ['To read everything, call it with `detail` "full".']),
    'To read the scores, call get_trace_scores.',
    `Shortened, with a note of how much is missing: ${cut.join('; ')}.`,
    `Left out: ${leftOut.join('; ')}.`
  ]
}

const LONGER =
  `For an outline of up to ${SHOWN_BYTES} bytes, call it with \`detail\` "outline"; for only the failed spans, call ` +
  'list_spans with traceId and `status` "error".'

/** This note comes last, because models that read only the text cannot use the note. */
const STRUCTURED = 'Clients that read structuredContent have the full trace.'

/** Reports spans that were not stored. The metadata also contains this information, but may be truncated. */
function notStored(metadata: object): string[] {
  const leftOut = leftOutOf(metadata)
  if (leftOut === undefined) return []
  const kinds = Object.entries(leftOut.kinds).map(([kind, count]) => `${count} ${cutOutlineText(kind, KIND_BYTES)}`)
  const shown = kinds.slice(0, SPAN_KINDS.length)
  return [
    `The run had ${leftOut.count} more spans that were not stored${shown.length === 0 ? '' : `: ${shown.join(', ')}`}.`
  ]
}

/**
 * Maximum number of bytes of a kind that the outline shows. Kinds need a limit because clients may write any string
 * into the metadata.
 */
const KIND_BYTES = 40

const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
