/**
 * Cuts a large export into portions. Each portion is made ready and written like a small export. So one large request
 * does not hold up the requests of others, and does not take many times its own size in memory at once
 * (test/bench/RESULTS.md, "Large exports").
 *
 * A portion holds spans in the encoding in which they came, grouped by their source. It crosses threads as bytes.
 */
import { deserialize, serialize } from 'node:v8'
import type { DescribedOrigin } from '../map-span.ts'
import { decodeJsonSpans } from './json-request.ts'
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
  readonly runs: readonly { readonly from: DescribedOrigin; readonly spans: Uint8Array }[]
}

const SPAN_DECODERS = { json: decodeJsonSpans, protobuf: decodeProtobufSpans }

/**
 * A portion can hold somewhat more spans than a trace, so that the spans of a trace are in one portion if they can be
 * stored.
 */
const PORTION_SPANS = 256

/** Cuts spans into portions. They are given trace by trace, and keep that order. */
export function cut(traces: Iterable<readonly Placed<Divisible>[]>, encoding: OtlpEncoding): Uint8Array[] {
  return Array.from(deal(traces), spans => serialize({ encoding, runs: runsOf(spans) } satisfies Portion))
}

export function decodePortion(bytes: Uint8Array): Source[] {
  const { encoding, runs }: Portion = deserialize(bytes)
  return runs.map(({ from, spans }) => ({ from, spans: SPAN_DECODERS[encoding](spans) }))
}

function* deal<T>(traces: Iterable<readonly T[]>): Generator<T[]> {
  let portion: T[] = []
  for (const spans of traces) {
    if (portion.length > 0 && portion.length + spans.length > PORTION_SPANS) {
      yield portion
      portion = []
    }
    let from = 0
    for (; spans.length - from > PORTION_SPANS; from += PORTION_SPANS) yield spans.slice(from, from + PORTION_SPANS)
    portion.push(...spans.slice(from))
  }
  if (portion.length > 0) yield portion
}

function runsOf(spans: readonly Placed<Divisible>[]): Portion['runs'] {
  const runs: { source: Divisible; places: number[] }[] = []
  for (const { source, place } of spans.toSorted((a, b) => a.order - b.order)) {
    const last = runs.at(-1)
    if (last?.source === source) last.places.push(place)
    else runs.push({ source, places: [place] })
  }
  return runs.map(({ source, places }) => ({ from: source.from, spans: source.encode(places) }))
}
