/**
 * Builds the OpenAPI document from the routes and schemas that requests are checked against. This file contains only
 * the document's general descriptions.
 */

import { ERRORS } from '../errors.ts'
import type { Route } from '../http/route.ts'
import { Components, type SchemaJson } from './components.ts'
import { describeOperation, TAGS, templateOf } from './operation.ts'

export interface DocumentOptions {
  /** The API's base URL, without a trailing slash. */
  readonly baseUrl: string
  readonly keyPrefix: string
}

export function describeApi(routes: readonly Route[], { baseUrl, keyPrefix }: DocumentOptions): SchemaJson {
  const components = new Components()
  const paths: Record<string, Record<string, SchemaJson>> = {}
  for (const route of routes) {
    if (route.operation === undefined) continue
    const path = templateOf(route)
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = describeOperation(route, components)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'spoor',
      version: '1.0.0',
      summary: 'Records, reads and scores traces of AI applications.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' }
    },
    servers: [{ url: baseUrl }],
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: `${keyPrefix}_live_<keyId>_<secret>`,
          description:
            'The API key determines which project a request acts on; its scopes determine what the request may do.'
        }
      },
      ...components.toJSON()
    }
  }
}

const DESCRIPTION = `A trace is one run of an AI application, made of spans: model calls, tool calls and other steps. Traces
are recorded complete in one request, or started, extended and ended while they run; scores are attached afterwards.

- A success is committed and can be read by the next request.
- Recording is idempotent: an identical resend returns \`duplicate: true\` and writes nothing.
- \`HEAD\` works wherever \`GET\` does.
- Every response has \`X-Request-Id\` and, except for this document, \`Cache-Control: no-store\`.

### Errors

Every error has the body \`{"error": {"code", "message", "requestId"}}\`. After a 429 or 503 response, wait for the
number of seconds in \`Retry-After\`, then send the same request again. An unknown path gets 404, and an unknown method
gets 405 with \`Allow\`. A request that is not valid HTTP gets \`invalid_request\` with status 400, 408 or 431.

| Code | Status | Meaning |
|---|---|---|
${Object.entries(ERRORS)
  .map(([code, { status, meaning }]) => `| \`${code}\` | ${status} | ${meaning} |`)
  .join('\n')}`
