/** The requests of a trace as bytes that are ready to send: the head and the body, with places for what changes. */
import { type BodyKind, ingestBody, SHAPES, streamedBodies } from './bodies.ts'
import type { LoadKind } from './load.ts'
import { createTemplate, type Template, TRACE_ID_PLACE } from './template.ts'

export interface Script {
  readonly requests: readonly Template[]
  /** Bytes of the bodies alone. */
  readonly bodyBytes: number
}

/** How many scripts of a kind there are. */
export const variantsOf = (kind: LoadKind): number => SHAPES[bodyKindOf(kind)].variants
/** The kind of trace that a load records, in whichever pieces. */
export const bodyKindOf = (kind: LoadKind): BodyKind => (kind === 'streaming' ? 'typical' : kind)

/** The requests that record one trace of a variant, in order. */
export function buildScript(kind: LoadKind, variant: number, port: number, key: string): Script {
  const parts = kind === 'streaming' ? streamedParts(variant) : [{ path: TRACES, body: ingestBody(kind, variant) }]
  let bodyBytes = 0
  const requests = parts.map(({ path, body }) => {
    const text = JSON.stringify(body)
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

const TRACES = '/api/v1/traces'

function streamedParts(variant: number): { path: string; body: object }[] {
  const { start, appends, end } = streamedBodies(variant)
  const trace = `${TRACES}/${TRACE_ID_PLACE}`
  return [
    { path: TRACES, body: start },
    ...appends.map(body => ({ path: `${trace}/spans`, body })),
    { path: `${trace}/end`, body: end }
  ]
}
