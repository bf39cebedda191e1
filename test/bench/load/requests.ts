/** The requests of a trace as prepared bytes: head and body, with placeholders for the values that change. */
import { type BodyKind, ingestBody, SHAPES, streamedBodies } from '../bodies/bodies.ts'
import { createTemplate, type Template, TRACE_ID_PLACE } from '../bodies/template.ts'
import type { LoadKind } from './load.ts'

export interface Script {
  readonly requests: readonly Template[]
  /** Bytes of the bodies only. */
  readonly bodyBytes: number
}

/** Returns the number of scripts of a kind. */
export const variantsOf = (kind: LoadKind): number => SHAPES[bodyKindOf(kind)].variants
/** Returns the kind of trace that a load records, whether or not the load is streamed. */
export const bodyKindOf = (kind: LoadKind): BodyKind => (kind === 'streaming' ? 'typical' : kind)

/** Returns the requests that record one trace of a variant, in order. */
export function buildScript(kind: LoadKind, variant: number, port: number, key: string): Script {
  let bodyBytes = 0
  const requests = partsOf(kind, variant).map(({ path, text }) => {
    const length = Buffer.byteLength(text)
    bodyBytes += length
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${length}`
    ]
    return createTemplate(Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`))
  })
  return { requests, bodyBytes }
}

interface Part {
  readonly path: string
  readonly text: string
}

const TRACES = '/api/v1/traces'
/** Large bodies take longer to build than to record, so they are kept. */
const made = new Map<string, readonly Part[]>()

function partsOf(kind: LoadKind, variant: number): readonly Part[] {
  const name = `${kind} ${variant}`
  const parts = made.get(name) ?? makeParts(kind, variant)
  made.set(name, parts)
  return parts
}

function makeParts(kind: LoadKind, variant: number): Part[] {
  if (kind !== 'streaming') return [{ path: TRACES, text: JSON.stringify(ingestBody(kind, variant)) }]
  const { start, appends, end } = streamedBodies(variant)
  const trace = `${TRACES}/${TRACE_ID_PLACE}`
  return [
    { path: TRACES, text: JSON.stringify(start) },
    ...appends.map(body => ({ path: `${trace}/spans`, text: JSON.stringify(body) })),
    { path: `${trace}/end`, text: JSON.stringify(end) }
  ]
}
