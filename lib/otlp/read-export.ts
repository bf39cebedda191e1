/** Reads an export request's spans by trace, and the spans that no trace can accept. */
import { Refusal } from '../errors.ts'
import { MAX_EXPORT_ORIGINS } from '../schema/otlp.ts'
import { DEFAULT_MAX_SPANS } from '../schema/otlp-limits.ts'
import { inNeedOrder, keptPlaces, type Needed } from '../trace/states/kept-spans.ts'
import type { Reason, SpanRefusal } from '../trace/states/span-refusals.ts'
import { CALL_SPAN } from './agents/steps.ts'
import { type DescribedOrigin, describeOrigin, lengthOfOrigin, type MappedSpan, mapSpan, readNeed } from './map-span.ts'
import { decodeJson, decodeLargeJson } from './wire/json-request.ts'
import {
  cutPortions,
  type Divisible,
  decodePortion,
  type IndexedSpan,
  isCut,
  type Portion,
  type SpanSource
} from './wire/portion.ts'
import { decodeProtobuf } from './wire/protobuf.ts'
import type { OtlpEncoding, OtlpSpan, SentSpans, SpanGroup, SpanIdentity } from './wire/request.ts'
import { LAST_MICROS } from './wire/time.ts'

export interface Export {
  /** Spans by trace id. Traces and spans are in the order of the request. */
  readonly traces: ReadonlyMap<string, readonly MappedSpan[]>
  /**
   * Portions of a large request, which has no `traces`. Each portion is joined and passed to readPortion, in this
   * order.
   */
  readonly portions: readonly Portion[]
  readonly refusals: readonly SpanRefusal[]
}

const DECODERS = { json: decodeJson, protobuf: decodeProtobuf }
/** Decoders that read a request's spans on demand instead of all at once. */
const LARGE_DECODERS = { json: decodeLargeJson, protobuf: decodeProtobuf }

export interface ReadOptions {
  /** Maximum number of spans in a trace. */
  readonly maxSpans?: number | undefined
  /** Names of attributes whose values become tags. */
  readonly tagNames?: readonly string[] | undefined
}

/** Decodes and maps a request. Throws a Refusal only if the request cannot be decoded or takes too much memory. */
export function readExport(bytes: Uint8Array, encoding: OtlpEncoding, options: ReadOptions = {}): Export {
  const { maxSpans = DEFAULT_MAX_SPANS, tagNames } = options
  if (!isCut(bytes.length, 0)) {
    const sources = describeGroups(DECODERS[encoding](bytes), tagNames)
    const count = sources.reduce((sum, { spans }) => sum + spans.length, 0)
    if (!isCut(bytes.length, count)) return mapExport(sources)
  }
  return cutExport(describeGroups(LARGE_DECODERS[encoding](bytes), tagNames), encoding, maxSpans)
}

/** Decodes and maps a joined portion. Its spans were checked when the request was cut. */
export const readPortion = (bytes: Uint8Array): Export => mapExport(decodePortion(bytes))

/** Returns the groups that have spans, with each origin in its stored form. */
function describeGroups<S extends SentSpans>(
  groups: readonly SpanGroup<S>[],
  tagNames: ReadOptions['tagNames']
): SpanSource<S>[] {
  let length = 0
  return groups
    .filter(({ spans }) => spans.length > 0)
    .map(({ origin, spans }) => {
      const from = describeOrigin(origin, tagNames)
      length += lengthOfOrigin(from) * spans.length
      if (length > MAX_EXPORT_ORIGINS) {
        const rule = `must total at most ${MAX_EXPORT_ORIGINS} characters, counted once per span`
        throw new Refusal('payload_too_large', `body: its resources and scopes ${rule}`)
      }
      return { from, spans }
    })
}

/** Reads steps made from coding agents' log records (lib/otlp/agents/steps.ts). */
export const readSteps = (bytes: Uint8Array, { tagNames }: ReadOptions = {}): Export =>
  mapExport(describeGroups(decodeJson(bytes), tagNames), mapStep)

function mapStep(span: OtlpSpan, origin: DescribedOrigin): MappedSpan {
  const attributes = new Map(span.attributes)
  const callSpanId = String(attributes.get(CALL_SPAN))
  attributes.delete(CALL_SPAN)
  const mapped = mapSpan({ ...span, attributes }, origin)
  return { ...mapped, hints: { ...mapped.hints, callSpanId } }
}

function mapExport(sources: readonly SpanSource[], map: typeof mapSpan = mapSpan): Export {
  const traces = new Map<string, MappedSpan[]>()
  const faults = new Faults()
  const starts = new Starts(sources)
  for (const { spans, from } of sources) {
    for (let index = 0; index < spans.length; index++) {
      const sent = spans.read(index)
      const span = sent.startMicros === 0 ? { ...sent, startMicros: starts.of(sent) } : sent
      if (!faults.hasNone(span, lastEventOf(span))) continue
      addTo(traces, span.traceId, map(span, from))
    }
  }
  return { traces, portions: [], refusals: faults.refusals }
}

interface CheckedSpan extends IndexedSpan {
  readonly need: Needed
}

function cutExport(sources: readonly Divisible[], encoding: OtlpEncoding, maxSpans: number): Export {
  const traces = new Map<string, CheckedSpan[]>()
  const faults = new Faults()
  const starts = new Starts(sources)
  let order = 0
  for (const source of sources) {
    for (let index = 0; index < source.spans.length; index++) {
      const sent = source.spans.head(index)
      const startMicros = sent.startMicros === 0 ? starts.of(sent) : undefined
      const head = startMicros === undefined ? sent : { ...sent, startMicros }
      if (!faults.hasNone(head, head.lastEventMicros)) continue
      // Reads the whole span, because a portion must not contain an unreadable span.
      const need = readNeed(source.spans.read(index), source.from)
      addTo(traces, head.traceId, { source, order: order++, index, startMicros, need })
    }
  }
  const portions = [
    ...cutPortions(
      Array.from(traces.values(), spans => neededFirst(spans, maxSpans)),
      encoding
    )
  ]
  return { traces: new Map(), portions, refusals: faults.refusals }
}

/**
 * Orders a trace's spans by priority if the trace may have too few slots. Portions are written one after another, so
 * without this order the first portion could fill the trace with plain steps.
 */
const neededFirst = (spans: readonly CheckedSpan[], maxSpans: number): readonly CheckedSpan[] =>
  spans.length <= maxSpans - keptPlaces(maxSpans) ? spans : inNeedOrder(spans, ({ need }) => need)

function addTo<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const others = lists.get(key)
  if (others === undefined) lists.set(key, [item])
  else others.push(item)
}

const lastEventOf = ({ events }: OtlpSpan): number => events.reduce((last, { micros }) => Math.max(last, micros), 0)

/** Counts the spans that no trace can accept, by reason. */
class Faults {
  readonly #byReason = new Map<Reason, { reason: Reason; count: number; example: string }>()

  hasNone(span: SpanIdentity, lastEventMicros: number): boolean {
    const reason = faultOf(span, lastEventMicros)
    if (reason === undefined) return true
    const before = this.#byReason.get(reason)
    if (before === undefined) this.#byReason.set(reason, { reason, count: 1, example: describe(span) })
    else before.count++
    return false
  }

  get refusals(): readonly SpanRefusal[] {
    return [...this.#byReason.values()]
  }
}

/**
 * Finds a start time for a span that was sent without one: the earliest start time of its children in the export. A
 * span without children starts at its own end time if it has a parent; otherwise, it has no start time.
 */
class Starts {
  readonly #sources: readonly SpanSource[]
  #earliest: Map<string, number> | undefined

  constructor(sources: readonly SpanSource[]) {
    this.#sources = sources
  }

  of({ traceId, spanId, parentSpanId, endMicros }: SpanIdentity): number {
    this.#earliest ??= this.#readAll()
    const start = this.#earliest.get(traceId + spanId)
    if (start !== undefined) return endMicros > 0 ? Math.min(start, endMicros) : start
    return parentSpanId === '' ? 0 : endMicros
  }

  /** Returns the earliest start of each span's children, by the parent span's ids. */
  #readAll(): Map<string, number> {
    const earliest = new Map<string, number>()
    for (const { spans } of this.#sources) {
      for (let index = 0; index < spans.length; index++) {
        const { traceId, parentSpanId, startMicros } = spans.head(index)
        if (parentSpanId === '' || startMicros === 0) continue
        const key = traceId + parentSpanId
        const before = earliest.get(key)
        if (before === undefined || startMicros < before) earliest.set(key, startMicros)
      }
    }
    return earliest
  }
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/

/** Returns the reason why a span's ids or times are invalid, or undefined if all are valid. */
function faultOf(span: SpanIdentity, lastEventMicros: number): Reason | undefined {
  if (!TRACE_ID.test(span.traceId) || !SPAN_ID.test(span.spanId)) return 'no_ids'
  if (span.parentSpanId !== '' && !/^[0-9a-f]{16}$/.test(span.parentSpanId)) return 'bad_parent'
  if (span.startMicros === 0) return 'no_start'
  if (span.startMicros > LAST_MICROS || span.endMicros > LAST_MICROS) return 'bad_time'
  return lastEventMicros > LAST_MICROS ? 'bad_event_time' : undefined
}

const describe = ({ name, traceId, spanId }: SpanIdentity): string =>
  traceId === '' && spanId === '' ? JSON.stringify(name.slice(0, 100)) : `span ${spanId} of trace ${traceId}`
