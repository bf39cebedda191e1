/**
 * Cuts a large export into portions. Each portion is made ready and written like a small export. So one large request
 * does not hold up the requests of others, and does not take many times its own size in memory at once
 * (test/bench/RESULTS.md, "Large exports").
 *
 * A portion holds spans in the encoding in which they came, grouped by their source. It crosses threads as bytes.
 */
import { deserialize, serialize } from 'node:v8'
import { inPresentForm } from '../../trace/json/canonical-number.ts'
import type { DescribedOrigin } from '../map-span.ts'
import { decodeJsonSpans, joinJsonSpans } from './json-request.ts'
import { decodeProtobufSpans } from './protobuf.ts'
import type { OtlpEncoding, SentSpans, SpanGroup } from './request.ts'

/** The spans of one origin. */
export interface Source {
  readonly from: DescribedOrigin
  readonly spans: SentSpans
}
export type Divisible = Source & Pick<SpanGroup, 'encode'>

/** A span with its position in the request, and among the spans of its source. */
export interface Placed<S extends Source = Source> {
  readonly source: S
  readonly order: number
  readonly place: number
}

interface Portion {
  readonly encoding: OtlpEncoding
  readonly runs: readonly Run[]
}

interface Run {
  readonly from: DescribedOrigin
  /** The same with numbers in the former form, if that differs. The spans hold their numbers as they were sent. */
  readonly formerFrom?: DescribedOrigin | undefined
  readonly spans: Uint8Array
}

const SPAN_CODERS = {
  json: { join: joinJsonSpans, decode: decodeJsonSpans },
  protobuf: { join: (spans: readonly Uint8Array[]) => Buffer.concat(spans), decode: decodeProtobufSpans }
}

/**
 * A portion can hold somewhat more spans than a trace, so that the spans of a trace are in one portion if they can be
 * stored, unless they are very large. Of a trace with more spans, those that get places first come first
 * (lib/otlp/read-export.ts).
 */
const PORTION_SPANS = 256
/** A portion has no more bytes of spans, or a single span. Two are made ready at a time (lib/ingest/write-path.ts). */
const PORTION_BYTES = 4 * 1024 * 1024

/** Whether an export of so many bytes and spans is cut. A full batch of the usual exporters has 512 spans. */
export const isCut = (bytes: number, spans: number): boolean => bytes > PORTION_BYTES || spans > 1024

interface EncodedSpan {
  readonly source: Divisible
  readonly order: number
  readonly bytes: Uint8Array
}

/** Cuts spans into portions. They are given trace by trace, and keep that order. */
export function cut(traces: Iterable<readonly Placed<Divisible>[]>, encoding: OtlpEncoding): Uint8Array[] {
  return Array.from(deal(encodeAll(traces)), spans =>
    serialize({ encoding, runs: runsOf(spans, encoding) } satisfies Portion)
  )
}

export function decodePortion(bytes: Uint8Array): Source[] {
  const { encoding, runs }: Portion = deserialize(bytes)
  return runs.map(({ from, formerFrom, spans }) => ({
    from: inPresentForm({ made: from, former: formerFrom }),
    spans: SPAN_CODERS[encoding].decode(spans)
  }))
}

/** A portion that has its origins in both forms of numbers. `former` is the same portion, cut in the former form. */
export function withFormerOrigins(portion: Uint8Array, former: Uint8Array): Uint8Array {
  const { encoding, runs }: Portion = deserialize(portion)
  const { runs: formerRuns }: Portion = deserialize(former)
  const both = runs.map((run, i): Run => ({ ...run, formerFrom: formerRuns[i]?.from }))
  return serialize({ encoding, runs: both } satisfies Portion)
}

function* encodeAll(traces: Iterable<readonly Placed<Divisible>[]>): Generator<EncodedSpan[]> {
  for (const trace of traces) {
    yield trace.map(({ source, order, place }) => ({ source, order, bytes: source.encode(place) }))
  }
}

function* deal(traces: Iterable<readonly EncodedSpan[]>): Generator<EncodedSpan[]> {
  let portion: EncodedSpan[] = []
  let bytes = 0
  for (const trace of traces) {
    for (const spans of split(trace)) {
      const more = sizeOf(spans)
      if (portion.length > 0 && (portion.length + spans.length > PORTION_SPANS || bytes + more > PORTION_BYTES)) {
        yield portion
        portion = []
        bytes = 0
      }
      portion.push(...spans)
      bytes += more
    }
  }
  if (portion.length > 0) yield portion
}

/** Cuts the spans of one trace into pieces that a portion can hold. Most traces are one piece. */
function* split(trace: readonly EncodedSpan[]): Generator<EncodedSpan[]> {
  let piece: EncodedSpan[] = []
  let bytes = 0
  for (const span of trace) {
    if (piece.length === PORTION_SPANS || (piece.length > 0 && bytes + span.bytes.length > PORTION_BYTES)) {
      yield piece
      piece = []
      bytes = 0
    }
    piece.push(span)
    bytes += span.bytes.length
  }
  yield piece
}

const sizeOf = (spans: readonly EncodedSpan[]): number => spans.reduce((sum, { bytes }) => sum + bytes.length, 0)

function runsOf(spans: readonly EncodedSpan[], encoding: OtlpEncoding): Portion['runs'] {
  const runs: { source: Divisible; spans: Uint8Array[] }[] = []
  for (const { source, bytes } of spans.toSorted((a, b) => a.order - b.order)) {
    const last = runs.at(-1)
    if (last?.source === source) last.spans.push(bytes)
    else runs.push({ source, spans: [bytes] })
  }
  return runs.map(({ source, spans }) => ({ from: source.from, spans: SPAN_CODERS[encoding].join(spans) }))
}
