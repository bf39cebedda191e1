/** Serves the OpenAPI document, the API's only cacheable response. */
import { createHash } from 'node:crypto'
import Type from 'typebox'
import type { App } from '../lib/app.ts'
import { JsonText, type Reply } from '../lib/http/route.ts'
import { describeApi } from '../lib/openapi/document.ts'

interface Rendered {
  readonly text: JsonText
  readonly headers: Readonly<Record<string, string>>
}

/** Maximum number of rendered documents kept, one per server address. Without BASE_URL, clients choose the address. */
const MAX_KEPT = 8

const Part = Type.Object({}, { additionalProperties: true })
const OpenApiDocument = Type.Object(
  { openapi: Type.String(), info: Part, paths: Part, components: Part },
  { description: 'An OpenAPI 3.1 document.' }
)

export default function openapi(app: App) {
  const kept = new Map<string, Rendered>()
  const isByHost = app.config.baseUrl === undefined
  const varies = isByHost ? { Vary: 'Host' } : undefined
  const rendered = (baseUrl: string): Rendered => {
    const document = kept.get(baseUrl) ?? render(describeApi(app.routes, { baseUrl, keyPrefix: app.config.keyPrefix }))
    kept.delete(baseUrl)
    kept.set(baseUrl, document)
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value!)
    return document
  }

  app.route({
    method: 'GET',
    path: '/api/v1/openapi.json',
    operation: 'getOpenApi',
    access: 'public',
    summary: 'Read this document',
    description:
      'Each deployment serves its own document. To check whether it has changed, send its `ETag` as `If-None-Match`.',
    replies: { 200: OpenApiDocument },
    outcomes: { 200: 'The document.', 304: 'The document still matches the ETag that was sent.' },
    headers: {
      ETag: 'Identifies this version of the document.',
      'Cache-Control': 'May be cached for five minutes.',
      ...(isByHost && { Vary: '`Host`, because the document contains the address that the request was sent to.' })
    },
    handler({ baseUrl, headers: sent }): Reply {
      const { text, headers } = rendered(baseUrl)
      const own = { ...headers, ...varies }
      if (matches(sent['if-none-match'], headers.ETag!)) return { status: 304, headers: own }
      return { headers: own, body: text }
    }
  })
}

function render(document: unknown): Rendered {
  const text = JSON.stringify(document)
  const ETag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`
  return { text: new JsonText(text), headers: { ETag, 'Cache-Control': 'public, max-age=300' } }
}

/** Whether an If-None-Match header names `etag`. A proxy that compressed the response may have weakened the tag. */
function matches(header: string | string[] | undefined, etag: string): boolean {
  const tags = String(header ?? '').split(',')
  return tags.some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
