/** The requests of a trace as prepared bytes: head and body, with placeholders for the values that change. */
import type { IngestBody } from '../../../lib/schema/input.ts'
import { type BodyKind, ingestBody, SHAPES, streamedBodies } from '../bodies/bodies.ts'
import { encodeExport, encodeJsonExport } from '../bodies/export.ts'
import { createTemplate, MINUTE_PLACE, type Template, TRACE_ID_PLACE } from '../bodies/template.ts'
import type { LoadKind } from './load.ts'

export interface Script {
  readonly requests: readonly Template[]
  /** Bytes of the bodies only. */
  readonly bodyBytes: number
}

/** Returns the number of scripts of a kind. */
export const variantsOf = (kind: LoadKind): number => SHAPES[bodyKindOf(kind)].variants
/** Returns the kind of trace that a load records, whether or not the load is streamed. */
export const bodyKindOf = (kind: LoadKind): BodyKind => (kind in SHAPES ? (kind as BodyKind) : 'typical')

/** Returns the requests that record one trace of a variant, in order. */
export function buildScript(kind: LoadKind, variant: number, port: number, key: string): Script {
  let bodyBytes = 0
  const requests = partsOf(kind, variant).map(({ path, type = 'application/json', body }) => {
    const bytes = Buffer.from(body)
    bodyBytes += bytes.length
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      `Authorization: Bearer ${key}`,
      `Content-Type: ${type}`,
      `Content-Length: ${bytes.length}`
    ]
    return createTemplate(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]))
  })
  return { requests, bodyBytes }
}

interface Part {
  readonly path: string
  /** The body's Content-Type; JSON if omitted. */
  readonly type?: string
  readonly body: string | Uint8Array
}

const TRACES = '/api/v1/traces'
const OTLP = '/api/v1/otlp/v1/traces'
const MINUTE = '2026-06-01T12:00'
/** The requests built so far, kept because large bodies take longer to build than to record. */
const made = new Map<string, readonly Part[]>()

function partsOf(kind: LoadKind, variant: number): readonly Part[] {
  const name = `${kind} ${variant}`
  const parts = made.get(name) ?? makeParts(kind, variant)
  made.set(name, parts)
  return parts
}

function makeParts(kind: LoadKind, variant: number): Part[] {
  if (kind === 'streaming') return streamedParts(variant)
  const text = JSON.stringify(ingestBody(bodyKindOf(kind), variant))
  if (kind !== 'otlp-json' && kind !== 'otlp-protobuf') return [{ path: TRACES, body: text }]
  // OTLP's times are numbers without a placeholder, so all exports have the same times.
  const { trace }: IngestBody = JSON.parse(text.replaceAll(MINUTE_PLACE, MINUTE))
  if (kind === 'otlp-json') return [{ path: OTLP, body: encodeJsonExport([trace]) }]
  return [{ path: OTLP, type: 'application/x-protobuf', body: encodeExport([trace]) }]
}

function streamedParts(variant: number): Part[] {
  const { start, appends, end } = streamedBodies(variant)
  const trace = `${TRACES}/${TRACE_ID_PLACE}`
  return [
    { path: TRACES, body: JSON.stringify(start) },
    ...appends.map(body => ({ path: `${trace}/spans`, body: JSON.stringify(body) })),
    { path: `${trace}/end`, body: JSON.stringify(end) }
  ]
}
