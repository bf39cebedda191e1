/** Which errors an operation may answer with, and how the document shows them. */

import { ERROR_CODES, ERRORS, type ErrorCode, RETRY_AFTER_S } from '../errors.ts'
import type { Route } from '../http/route.ts'
import { ErrorBody } from '../schema/output.ts'
import type { Components, Json, Ref } from './components.ts'
import { REQUEST_ID } from './examples.ts'
import { everyHeader } from './headers.ts'

/** What an answer of these statuses carries besides. */
const STATUS_HEADERS: Readonly<Record<number, Readonly<Record<string, Json>>>> = {
  401: {
    'WWW-Authenticate': { description: 'The challenge.', required: true, schema: { type: 'string', const: 'Bearer' } }
  },
  429: { 'Retry-After': retryAfter() },
  503: { 'Retry-After': retryAfter() }
}

/** Messages as clients see them, for the codes whose meaning says less than a message does. */
const MESSAGES: { readonly [code in ErrorCode]?: string } = {
  invalid_json: 'body: is not valid JSON',
  invalid_trace: 'trace.spans[3].name: must have at most 500 characters',
  invalid_request: 'limit: must be at most 200',
  insufficient_scope: 'This key lacks the scope traces:delete.',
  not_found: 'There is no such trace in this project.'
}

/** Every code that the operation may answer with, in the order of the table of errors. */
export function errorCodesOf(route: Route): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>([...(route.errors ?? []), ...sharedCodes(route)])
  return ERROR_CODES.filter(code => codes.has(code))
}

/** What the server itself refuses, before the handler or around it (decisions.md, "HTTP"). */
function* sharedCodes({ access, path, query, body }: Route): Generator<ErrorCode> {
  yield 'internal_error'
  if (access !== 'public') {
    yield* ['not_configured', 'invalid_api_key'] as const
    yield access === 'key' || access === 'traces:read' ? 'unavailable' : 'quota_exhausted'
  }
  if (access !== 'public' && access !== 'key') yield 'insufficient_scope'
  if (path.includes('/:')) yield 'not_found'
  if (query !== undefined) yield 'invalid_request'
  if (body !== undefined) yield* ['invalid_json', 'unsupported_encoding', 'payload_too_large'] as const
}

/** The error responses of an operation, by status. Those of the same codes are one component. */
export function errorResponses(route: Route, components: Components): Readonly<Record<string, Ref>> {
  const codes = errorCodesOf(route)
  const statuses = [...new Set(codes.map(code => ERRORS[code].status))].sort()
  return Object.fromEntries(
    statuses.map(status => [
      status,
      errorResponse(
        status,
        codes.filter(code => ERRORS[code].status === status),
        components
      )
    ])
  )
}

function errorResponse(status: number, codes: readonly ErrorCode[], components: Components): Ref {
  const code = codes.length === 1 ? { const: codes[0] } : { enum: codes }
  return components.add('responses', codes.map(pascalCase).join('Or'), {
    description: codes.map(code => `\`${code}\`: ${ERRORS[code].meaning}`).join('\n\n'),
    headers: { ...everyHeader(components), ...STATUS_HEADERS[status] },
    content: {
      'application/json': {
        schema: {
          allOf: [
            components.schema(ErrorBody),
            { type: 'object', properties: { error: { type: 'object', properties: { code } } } }
          ]
        },
        examples: Object.fromEntries(codes.map(code => [code, { value: example(code) }]))
      }
    }
  })
}

function example(code: ErrorCode): Json {
  return { error: { code, message: MESSAGES[code] ?? ERRORS[code].meaning, requestId: REQUEST_ID } }
}

function retryAfter(): Json {
  return {
    description: 'Seconds to wait before the next attempt.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: RETRY_AFTER_S
  }
}

/** `not_found` to `NotFound`. */
function pascalCase(code: string): string {
  return code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
}
