/**
 * A body that was refused as too large, by a proxy as a rule: the same in several requests as long as it has several
 * spans, then with its values cut, further each time.
 */
import { END_FIELDS } from '../record/render.ts'
import type { Part } from '../record/trace.ts'
import { cutText, writeValue } from '../record/values.ts'

/** The first cut leaves the values this many bytes in all, since proxies often allow a megabyte. */
const VALUE_BYTES = 400_000
/** Each cut halves the values. After this many, hardly anything is left. */
const MOST_CUTS = 8
/** Attributes of an export that are JSON. */
const JSON_TEXTS = ['input.value', 'output.value', 'metadata']
const FIELDS = ['input', 'output', 'metadata', 'attributes'] as const

// biome-ignore lint/suspicious/noExplicitAny: bodies of several forms, which the client has made itself.
type Document = any

/** Undefined where nothing is left to be cut. `cuts`: how often it was cut before. */
export function smaller(part: Part, cuts: number): Part[] | undefined {
  if (part.kind === 'score' || cuts >= MOST_CUTS) return undefined
  const body = JSON.parse(part.body)
  const { kind } = part
  const most = Math.floor(VALUE_BYTES / FIELDS.length / 2 ** cuts)
  return (split(kind, body) ?? [{ kind, body: shrink(kind, body, most) }]).map(made)
}

interface Made {
  readonly kind: Part['kind']
  readonly body: Document
}

const made = ({ kind, body }: Made): Part => ({ kind, body: JSON.stringify(body) })

/** In halves, or the trace apart from its spans. */
function split(kind: Part['kind'], body: Document): Made[] | undefined {
  const { schemaVersion } = body
  if (kind === 'record') return body.trace.spans === undefined ? undefined : apart(schemaVersion, body.trace)
  const spans: Document[] = kind === 'otlp' ? exported(body) : (body.spans ?? [])
  if (kind === 'end' && spans.length > 0) {
    const { spans: _, ...end } = body
    return [
      { kind: 'spans', body: { schemaVersion, spans } },
      { kind, body: end }
    ]
  }
  if (spans.length < 2) return undefined
  const half = Math.ceil(spans.length / 2)
  return [spans.slice(0, half), spans.slice(half)].map(some => ({
    kind,
    body: kind === 'otlp' ? withExported(body, some) : { schemaVersion, spans: some }
  }))
}

/** A whole trace as one that was started, had spans, and was ended. */
function apart(schemaVersion: number, { spans, ...trace }: Document): Made[] {
  const end: Document = { schemaVersion }
  for (const name of END_FIELDS) {
    if (trace[name] !== undefined) end[name] = trace[name]
    delete trace[name]
  }
  return [
    { kind: 'start', body: { schemaVersion, trace } },
    { kind: 'spans', body: { schemaVersion, spans } },
    { kind: 'end', body: end }
  ]
}

function exported(body: Document): Document[] {
  return body.resourceSpans[0].scopeSpans[0].spans
}

function withExported(body: Document, spans: readonly Document[]): Document {
  const [{ scopeSpans, ...rest }] = body.resourceSpans
  return { resourceSpans: [{ ...rest, scopeSpans: [{ ...scopeSpans[0], spans }] }] }
}

/** The body of one trace or of one span, with so many bytes for each of its values. */
function shrink(kind: Part['kind'], body: Document, most: number): Document {
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
    if (text === undefined || Buffer.byteLength(text) <= most) continue
    cuts++
    value.stringValue = JSON_TEXTS.includes(key)
      ? writeValue(key, JSON.parse(text), { bytes: most })!.text
      : cutText(text, most)
  }
  for (const event of events) cuts += shrinkExported(event, Math.floor(most / events.length))
  return cuts
}
