/**
 * Controls how get_trace shows a trace. Clients truncate long results, so the result for a long trace is an outline,
 * unless the caller requests specific spans or a part of the trace's own input, output or metadata.
 */
import Type, { type Static } from 'typebox'
import { refuseField } from '../http/refuse.ts'
import { MAX_SPANS, SpanId } from '../schema/input.ts'
import { named } from '../schema/object.ts'
import { SpanOutput } from '../schema/output.ts'
import { inspectText, parseInexact, stringifyExact } from '../trace/json/exact-json.ts'
import {
  beginning,
  type Detail,
  measureSpan,
  outlineOf,
  outlineTrace,
  type PlannedSpan,
  SHOWN_BYTES,
  showsValues,
  TraceOutline,
  USUAL_BYTES
} from './outline.ts'
import type { PartReader, ToolView } from './tool.ts'

/** Maximum number of bytes in a part. The limit leaves a margin for the quotes and backslashes of JSON within JSON. */
const PART_BYTES = 17_000

const options = Type.Object({
  detail: Type.Optional(
    Type.Enum(['auto', 'outline', 'full'], {
      default: 'auto',
      description:
        '`full`: the full trace. `outline`: the span tree with shortened values, up to ' +
        `${SHOWN_BYTES} bytes. \`auto\`: full or, above ${USUAL_BYTES} bytes, an outline of up to ${USUAL_BYTES} bytes.`
    })
  ),
  spanIds: Type.Optional(
    Type.Array(SpanId, {
      minItems: 1,
      maxItems: MAX_SPANS,
      description: 'Returns only these spans, in full, regardless of `detail`. An outline contains the ids.'
    })
  ),
  field: Type.Optional(
    Type.Enum(['input', 'output', 'metadata'], {
      description: 'Returns only this value of the trace, as JSON text in parts, regardless of `detail`.'
    })
  ),
  after: Type.Optional(
    Type.Unsafe<string>({
      ...SpanId,
      description:
        "In an outline, returns the part of the tree after this span. Pass the previous outline's `nextAfter`."
    })
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "With `field`, the offset at which the part starts. Pass the previous part's `nextOffset`."
    })
  )
})
type Options = Static<typeof options>

const ChosenSpans = named('ChosenSpans', {
  traceId: SpanOutput.properties.traceId,
  spans: Type.Array(SpanOutput, { description: 'The requested spans in full, ordered by `startedAt`, then id.' }),
  missing: Type.Array(SpanOutput.properties.id, { description: 'Requested ids that match no span in the trace.' })
})

const Offset = Type.Integer({ minimum: 0 })
const TracePart = named('TracePart', {
  traceId: SpanOutput.properties.traceId,
  field: Type.Enum(['input', 'output', 'metadata']),
  part: Type.String({ description: "A part of the field's JSON text. Join all parts to get the full text." }),
  offset: Offset,
  length: Type.Integer({
    minimum: 0,
    description: 'The length of the full JSON text, in the same unit as the offsets.'
  }),
  nextOffset: Type.Union([Offset, Type.Null()], { description: 'Null if this is the last part.' })
})

export const traceView: ToolView = {
  name: 'trace',
  options,
  outputs: [TraceOutline, ChosenSpans, TracePart],
  check({ spanIds, field, offset, after, detail }: Options) {
    if (field === undefined && offset !== undefined) refuseField('offset', 'requires `field`')
    if (after !== undefined && (field !== undefined || spanIds !== undefined || detail === 'full')) {
      refuseField('after', 'can be used only for an outline, without `field` or `spanIds`')
    }
    if (field !== undefined && spanIds !== undefined) refuseField('field', 'cannot be combined with `spanIds`')
  },
  isWhole: ({ detail, spanIds, field }: Options) => detail === 'full' && spanIds === undefined && field === undefined,
  show(answer, { detail = 'auto', spanIds, field, offset = 0, after }: Options) {
    if (field !== undefined) return partOf(answer, field, offset)
    if (spanIds !== undefined) return chooseSpans(answer, spanIds)
    const bytes = Buffer.byteLength(answer)
    if (detail === 'full' || (detail === 'auto' && bytes < USUAL_BYTES && after === undefined)) return answer
    const { value, inexact } = parse(answer)
    return outlineTrace(value, { inexact, bytes, after: after?.toLowerCase(), most: mostOf(detail) })
  },
  partReader: options => new TracePartReader(options)
}

const mostOf = (detail: Options['detail']): number => (detail === 'auto' ? USUAL_BYTES : SHOWN_BYTES)

/** Maximum number of bytes of requested spans that are kept while a trace is read in parts. */
const MOST_KEPT = 32 * 1024 * 1024

/**
 * Reads a trace in parts, because the trace is too long to be in memory at once. The reader needs and keeps only the
 * contents of spans that the result shows.
 */
class TracePartReader implements PartReader {
  readonly #options: Options
  readonly #wanted: ReadonlySet<string> | undefined
  #head = ''
  #bytes = 0
  readonly #kept: string[] = []
  #keptBytes = 0
  readonly #planned: PlannedSpan[] = []
  #inexact = false

  constructor(options: Options) {
    this.#options = options
    this.#wanted = options.spanIds && new Set(options.spanIds.map(id => id.toLowerCase()))
  }

  needs(id: string, count: number): boolean {
    const { field, after } = this.#options
    if (field !== undefined) return false
    return this.#wanted?.has(id) ?? showsValues(count, after)
  }

  head(text: string): void {
    this.#head = text
    this.#bytes = Buffer.byteLength(text)
  }

  foot(text: string): string {
    const { field, spanIds, after, detail = 'auto' } = this.#options
    const answer = `${this.#head}${this.#kept.join(',')}${text}`
    if (field !== undefined || spanIds !== undefined) return traceView.show(answer, this.#options)
    const { value, inexact } = parse(answer)
    const source = { trace: value.trace, spans: this.#planned, scoreCount: value.scores.length }
    const commas = Math.max(this.#planned.length - 1, 0)
    const bytes = this.#bytes + commas + Buffer.byteLength(text)
    return outlineOf(source, {
      inexact: inexact || this.#inexact,
      bytes,
      after: after?.toLowerCase(),
      most: mostOf(detail)
    })
  }

  item(text: string, bytes: number): void {
    if (this.#options.field !== undefined) return
    this.#bytes += bytes
    if (this.#wanted !== undefined) {
      if (!this.#wanted.has(text.slice(ID_AT, ID_AT + ID_DIGITS))) return
      this.#keptBytes += text.length
      if (this.#keptBytes > MOST_KEPT)
        refuseField('spanIds', 'select spans that are too long in total; request fewer spans')
      this.#kept.push(text)
      return
    }
    const { inexact } = inspectText(text)
    this.#inexact ||= inexact
    const measure = () => ({ ...measureSpan(parseSpan(text, inexact), inexact), bytes })
    // A long span is measured now, so that its text need not be kept.
    const measured = text.length > MOST_UNPARSED ? measure() : undefined
    const id = text.slice(ID_AT, ID_AT + ID_DIGITS)
    this.#planned.push({ id, parentSpanId: PARENT.exec(text)?.[1] ?? null, measure: () => measured ?? measure() })
  }
}

/** Maximum length, in characters of JSON, of a span that is kept unparsed. */
const MOST_UNPARSED = 1024

/** Position of the id in a span's JSON, which begins with the id (lib/store/answers/trace-json.ts). */
const ID_AT = '{"id":"'.length
const ID_DIGITS = 16
const PARENT = /^\{"id":"\w+","traceId":"\w+","parentSpanId":"(\w+)"/

const parseSpan = (text: string, inexact: boolean): Detail['spans'][number] =>
  (inexact ? parseInexact(text) : JSON.parse(text)) as Detail['spans'][number]

function chooseSpans(answer: string, spanIds: readonly string[]): string {
  const { value, inexact } = parse(answer)
  const missing = new Set(spanIds.map(id => id.toLowerCase()))
  const spans = value.spans.filter(span => missing.delete(span.id))
  const chosen: Static<typeof ChosenSpans> = { traceId: value.trace.id, spans, missing: [...missing] }
  return stringifyExact(chosen, inexact)
}

function partOf(answer: string, field: NonNullable<Options['field']>, offset: number): string {
  const { value, inexact } = parse(answer)
  const json = stringifyExact(value.trace[field], inexact)
  if (offset > json.length) refuseField('offset', `must be at most ${json.length}`)
  const part = beginning(json.slice(offset), PART_BYTES)
  const end = offset + part.length
  const nextOffset = end < json.length ? end : null
  const shown: Static<typeof TracePart> = {
    traceId: value.trace.id,
    field,
    part,
    offset,
    length: json.length,
    nextOffset
  }
  return JSON.stringify(shown)
}

function parse(answer: string): { value: Detail; inexact: boolean } {
  const { inexact } = inspectText(answer)
  return { value: (inexact ? parseInexact(answer) : JSON.parse(answer)) as Detail, inexact }
}
