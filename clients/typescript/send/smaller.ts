/**
 * Reduces a body that was rejected as too large, usually by a proxy. A body with several spans is split into several
 * requests. A body with one span has its values cut, to a smaller size each time.
 */
import { utf8Length } from '../record/bytes.ts'
import { END_FIELDS } from '../record/render.ts'
import type { TracePart } from '../record/trace.ts'
import { cutToBytes, writeValue } from '../record/values.ts'

/** Total number of bytes that the first cut leaves for values. Proxies often allow one megabyte. */
const VALUE_BYTES = 400_000
/** Maximum number of cuts. Each cut halves the values, so hardly anything is left afterwards. */
const MOST_CUTS = 8
/** Attributes of exported spans that contain JSON. */
const JSON_TEXTS = ['input.value', 'output.value', 'metadata']
const FIELDS = ['input', 'output', 'metadata', 'attributes'] as const

// biome-ignore lint/suspicious/noExplicitAny: the client wrote these bodies, in several forms.
type Document = any

/** Returns undefined if nothing is left to cut. `cuts` is the number of earlier cuts. */
export function smaller({ kind, body: text }: TracePart, cuts: number): TracePart[] | undefined {
  if (kind === 'score' || cuts >= MOST_CUTS) return undefined
  const body = JSON.parse(text)
  const most = Math.floor(VALUE_BYTES / FIELDS.length / 2 ** cuts)
  return split(kind, body) ?? [made(kind, shrink(kind, body, most))]
}

const made = (kind: TracePart['kind'], body: Document): TracePart => ({ kind, body: JSON.stringify(body) })

/** Splits a list of spans in half, or separates a trace from its spans. */
function split(kind: TracePart['kind'], body: Document): TracePart[] | undefined {
  const { schemaVersion } = body
  if (kind === 'record') return body.trace.spans === undefined ? undefined : apart(schemaVersion, body.trace)
  const spans: Document[] = kind === 'otlp' ? exported(body) : (body.spans ?? [])
  if (kind === 'end' && spans.length > 0) {
    const { spans: _, ...end } = body
    return [made('spans', { schemaVersion, spans }), made(kind, end)]
  }
  if (spans.length < 2) return undefined
  const half = Math.ceil(spans.length / 2)
  return [spans.slice(0, half), spans.slice(half)].map(some =>
    made(kind, kind === 'otlp' ? withExported(body, some) : { schemaVersion, spans: some })
  )
}

/** Splits a complete trace into its start, its spans and its end. */
function apart(schemaVersion: number, { spans, ...trace }: Document): TracePart[] {
  const end: Document = { schemaVersion }
  for (const name of END_FIELDS) {
    if (trace[name] !== undefined) end[name] = trace[name]
    delete trace[name]
  }
  return [made('start', { schemaVersion, trace }), made('spans', { schemaVersion, spans }), made('end', end)]
}

const exported = (body: Document): Document[] => body.resourceSpans[0].scopeSpans[0].spans

function withExported(body: Document, spans: readonly Document[]): Document {
  const [{ scopeSpans, ...rest }] = body.resourceSpans
  return { resourceSpans: [{ ...rest, scopeSpans: [{ ...scopeSpans[0], spans }] }] }
}

/** Cuts each value of a trace or of a single span to `most` bytes. */
function shrink(kind: TracePart['kind'], body: Document, most: number): Document {
  const [span] = kind === 'otlp' ? exported(body) : (body.spans ?? [])
  if (kind === 'otlp') {
    const cuts = shrinkExported(span, most)
    const others = span.attributes.filter(({ key }: Document) => key !== 'spoor.cut')
    if (cuts > 0) span.attributes = [...others, { key: 'spoor.cut', value: { intValue: String(cuts) } }]
  } else if (kind === 'spans') {
    const cuts = shrinkDocument(span, most)
    if (cuts > 0) span.attributes = { ...span.attributes, 'spoor.cut': cuts }
  } else {
    const trace = body.trace ?? body
    const cuts = shrinkDocument(trace, most)
    if (cuts > 0) trace.metadata = { ...trace.metadata, spoor: { ...trace.metadata?.spoor, cut: cuts } }
  }
  return body
}

function shrinkDocument(document: Document, most: number): number {
  let cuts = 0
  for (const name of FIELDS) {
    const written = writeValue(name, document[name], { bytes: most })
    if (written === undefined) continue
    cuts += written.cuts
    document[name] = JSON.parse(written.text)
  }
  for (const event of document.events ?? []) cuts += shrinkDocument(event, Math.floor(most / document.events.length))
  return cuts
}

function shrinkExported({ attributes, events = [] }: Document, most: number): number {
  let cuts = 0
  for (const { key, value } of attributes) {
    const { stringValue: text } = value
    if (text === undefined || utf8Length(text) <= most) continue
    cuts++
    value.stringValue = JSON_TEXTS.includes(key)
      ? writeValue(key, JSON.parse(text), { bytes: most })!.text
      : cutToBytes(text, most)
  }
  for (const event of events) cuts += shrinkExported(event, Math.floor(most / events.length))
  return cuts
}
