/**
 * Cuts a large export into portions. Each portion is prepared and written like a small export, so a large request does
 * not delay other requests or use many times its own size in memory (test/bench/RESULTS.md, "Large exports").
 *
 * Until a portion is written, it holds only byte ranges of the request. The spans' bytes are copied when the portion is
 * written, so memory holds a large request only once.
 */
import { deserialize, serialize } from 'node:v8'
import { inPresentForm } from '../../trace/json/canonical-number.ts'
import type { DescribedOrigin } from '../map-span.ts'
import { ByteRanges } from './json-division.ts'
import { readJsonSpans } from './json-request.ts'
import { readProtobufSpans } from './protobuf.ts'
import type { ByteRange, DivisibleSpans, OtlpEncoding, SentSpans, SpanIdentity } from './request.ts'

export interface SpanSource<S extends SentSpans = SentSpans> {
  readonly from: DescribedOrigin
  readonly spans: S
}
export type Divisible = SpanSource<DivisibleSpans>

/** A span, with its byte range in the request and its index in its source. */
export interface IndexedSpan {
  readonly source: Divisible
  readonly order: number
  readonly index: number
  /** Start time computed for a span that was sent without a start. */
  readonly startMicros: number | undefined
}

/** Spans of a request that share an origin. */
export interface Portion {
  readonly encoding: OtlpEncoding
  readonly runs: readonly Run[]
}

interface Run {
  readonly from: DescribedOrigin
  /**
   * The origin with numbers in the former form, if that form differs from the current form. The spans keep their
   * numbers as sent.
   */
  readonly formerFrom?: DescribedOrigin | undefined
  readonly ranges: readonly ByteRange[]
  /** Start times of the spans that were sent without a start, by the span's index in `ranges`. */
  readonly starts?: ReadonlyMap<number, number> | undefined
}

/**
 * Maximum number of spans per portion. A trace with more spans has several portions. If the trace may have too few
 * slots, its spans are ordered by priority first (lib/otlp/read-export.ts).
 */
const PORTION_SPANS = 256
/**
 * Maximum size of a portion of several spans, in bytes. Two portions are prepared at a time (lib/ingest/write-path.ts).
 */
const PORTION_BYTES = 4 * 1024 * 1024

/** Returns whether an export of this size is cut. A full batch from the usual exporters has 512 spans. */
export const isCut = (bytes: number, spans: number): boolean => bytes > PORTION_BYTES || spans > 1024

/** Cuts spans into portions. The spans arrive grouped by trace and keep their order. */
export function* cutPortions(traces: Iterable<readonly IndexedSpan[]>, encoding: OtlpEncoding): Generator<Portion> {
  for (const spans of deal(traces)) yield { encoding, runs: runsOf(spans) }
}

/**
 * Size of the length field, in bytes. A joined portion is the description's length, the description, and the spans'
 * bytes.
 */
const LENGTH_BYTES = 4

/** Returns a portion's bytes in the format that decodePortion reads. */
export function joinPortion(portion: Portion, request: Uint8Array): Uint8Array {
  const description = serialize(portion)
  const ranges = portion.runs.flatMap(run => run.ranges)
  const length = ranges.reduce((sum, range) => sum + lengthOf(range), 0)
  const bytes = Buffer.allocUnsafeSlow(LENGTH_BYTES + description.length + length)
  bytes.writeUInt32LE(description.length)
  bytes.set(description, LENGTH_BYTES)
  let at = LENGTH_BYTES + description.length
  for (const { from, end } of ranges) {
    bytes.set(request.subarray(from, end), at)
    at += end - from
  }
  return bytes
}

export function decodePortion(bytes: Uint8Array): SpanSource[] {
  let at = LENGTH_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
  const { encoding, runs }: Portion = deserialize(bytes.subarray(LENGTH_BYTES, at))
  return runs.map(({ from, formerFrom, ranges, starts }) => {
    const joined = ranges.map(range => {
      const from = at
      at += lengthOf(range)
      return { from, end: at }
    })
    return {
      from: inPresentForm({ made: from, former: formerFrom }),
      spans: started(readSpans(encoding, bytes, joined), starts)
    }
  })
}

const readSpans = (encoding: OtlpEncoding, bytes: Uint8Array, ranges: readonly ByteRange[]): SentSpans =>
  encoding === 'json' ? readJsonSpans(bytes, ByteRanges.of(ranges)) : readProtobufSpans(bytes, ranges)

/** Returns the spans, with a computed start time for each span that was sent without one. */
function started(spans: SentSpans, starts: ReadonlyMap<number, number> | undefined): SentSpans {
  if (starts === undefined) return spans
  const withStart = <T extends SpanIdentity>(span: T, index: number): T => {
    const startMicros = starts.get(index)
    return startMicros === undefined ? span : { ...span, startMicros }
  }
  return {
    length: spans.length,
    head: index => withStart(spans.head(index), index),
    read: index => withStart(spans.read(index), index)
  }
}

/** Adds origins in the former number form. `former` is the same portion with all origins in that form. */
export const withFormerOrigins = ({ encoding, runs }: Portion, former: Portion): Portion => ({
  encoding,
  runs: runs.map((run, i): Run => ({ ...run, formerFrom: former.runs[i]?.from }))
})

/** Deals the spans of traces to portions. A trace is split only if it does not fit in one portion. */
function* deal(traces: Iterable<readonly IndexedSpan[]>): Generator<IndexedSpan[]> {
  for (const pieces of pack(split(traces), piece => piece.length, sizeOf)) yield pieces.flat()
}

function* split(traces: Iterable<readonly IndexedSpan[]>): Generator<IndexedSpan[]> {
  for (const spans of traces) yield* pack(spans, () => 1, lengthOfSpan)
}

/** Groups consecutive items, as many as fit in a portion but at least one. */
function* pack<T>(items: Iterable<T>, spansOf: (item: T) => number, bytesOf: (item: T) => number): Generator<T[]> {
  let group: T[] = []
  let [spans, bytes] = [0, 0]
  for (const item of items) {
    const [moreSpans, moreBytes] = [spansOf(item), bytesOf(item)]
    if (group.length > 0 && (spans + moreSpans > PORTION_SPANS || bytes + moreBytes > PORTION_BYTES)) {
      yield group
      group = []
      spans = bytes = 0
    }
    group.push(item)
    spans += moreSpans
    bytes += moreBytes
  }
  if (group.length > 0) yield group
}

const lengthOf = ({ from, end }: ByteRange): number => end - from
const rangeOf = ({ source, index }: IndexedSpan): ByteRange => source.spans.rangeOf(index)
const lengthOfSpan = (span: IndexedSpan): number => lengthOf(rangeOf(span))
const sizeOf = (spans: readonly IndexedSpan[]): number => spans.reduce((sum, span) => sum + lengthOfSpan(span), 0)

function runsOf(spans: readonly IndexedSpan[]): Run[] {
  const runs: { source: Divisible; from: DescribedOrigin; ranges: ByteRange[]; starts?: Map<number, number> }[] = []
  for (const span of spans.toSorted((a, b) => a.order - b.order)) {
    const { source, startMicros } = span
    let run = runs.at(-1)
    if (run?.source !== source) {
      run = { source, from: source.from, ranges: [] }
      runs.push(run)
    }
    run.ranges.push(rangeOf(span))
    if (startMicros === undefined) continue
    run.starts ??= new Map()
    run.starts.set(run.ranges.length - 1, startMicros)
  }
  return runs.map(({ from, ranges, starts }) => (starts === undefined ? { from, ranges } : { from, ranges, starts }))
}
