/** Describes the errors that an operation may return. */
import { STATUS_CODES } from 'node:http'
import { ERROR_CODES, ERRORS, type ErrorCode, RETRY_AFTER_S } from '../errors.ts'
import { isRead, type Route } from '../http/route.ts'
import { ErrorBody } from '../schema/error-body.ts'
import { type Components, everyHeader, type Ref, type SchemaJson } from './components.ts'
import { REQUEST_ID } from './examples.ts'

/** Additional response headers by status. */
const STATUS_HEADERS: Readonly<Record<number, Readonly<Record<string, SchemaJson>>>> = {
  401: {
    'WWW-Authenticate': { description: 'The challenge.', required: true, schema: { type: 'string', const: 'Bearer' } }
  },
  429: { 'Retry-After': retryAfter() },
  503: { 'Retry-After': retryAfter() }
}

/**
 * Sample messages for some codes. For these codes, the messages that clients receive are more specific than the
 * descriptions in the error table.
 */
const MESSAGES: { readonly [code in ErrorCode]?: string } = {
  invalid_json: 'body: is not valid JSON',
  invalid_trace: 'trace.spans[3].name: must have at most 500 characters',
  invalid_request: 'limit: must be at most 200',
  insufficient_scope: 'This key lacks the scope traces:delete.',
  not_found: 'There is no such trace in this project.'
}

/** Returns every code that the operation may return, in the order of the error table. */
export function errorCodesOf(route: Route): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>([...(route.errors ?? []), ...sharedCodes(route)])
  return ERROR_CODES.filter(code => codes.has(code))
}

/** Yields the codes with which the server itself rejects a request, before or instead of calling the handler. */
function* sharedCodes(route: Route): Generator<ErrorCode> {
  const { access, path, query, body } = route
  yield 'internal_error'
  if (access !== 'public') {
    yield* ['not_configured', 'invalid_api_key'] as const
    if (isRead(route)) yield* ['unavailable', 'too_many_requests'] as const
    else yield 'quota_exhausted'
  }
  if (access !== 'public' && access !== 'key') yield 'insufficient_scope'
  if (path.includes('/:')) yield 'not_found'
  if (query !== undefined) yield 'invalid_request'
  if (body !== undefined) yield* ['invalid_json', 'unsupported_encoding', 'payload_too_large'] as const
}

/**
 * Returns an operation's error responses, by status. Each status is one component, so that generators create one type
 * per status. The reference lists the codes that the operation may return.
 */
export function errorResponses(route: Route, components: Components): Readonly<Record<string, Ref>> {
  const codes = errorCodesOf(route)
  const statuses = [...new Set(codes.map(code => ERRORS[code].status))].sort()
  return Object.fromEntries(
    statuses.map(status => [
      status,
      { ...errorResponse(status, components, route.binary), description: meanings(codes, status) }
    ])
  )
}

/** A route with a binary encoding has its own components, because its error responses also use the binary encoding. */
function errorResponse(status: number, components: Components, binary: Route['binary']): Ref {
  const examples = codesOf(ERROR_CODES, status).map(code => [code, { value: example(code) }])
  return components.add('responses', `${nameOf(status)}${binary === undefined ? '' : 'OfExport'}`, {
    description: meanings(ERROR_CODES, status),
    headers: { ...everyHeader(components), ...STATUS_HEADERS[status] },
    content: {
      'application/json': { schema: components.schema(ErrorBody), examples: Object.fromEntries(examples) },
      ...(binary && { [binary.type]: { schema: { description: binary.error } } })
    }
  })
}

function codesOf(codes: readonly ErrorCode[], status: number): ErrorCode[] {
  return codes.filter(code => ERRORS[code].status === status)
}

function meanings(codes: readonly ErrorCode[], status: number): string {
  return codesOf(codes, status)
    .map(code => `\`${code}\`: ${ERRORS[code].meaning}`)
    .join('\n\n')
}

function example(code: ErrorCode): SchemaJson {
  return { error: { code, message: MESSAGES[code] ?? ERRORS[code].meaning, requestId: REQUEST_ID } }
}

function retryAfter(): SchemaJson {
  return {
    description: 'Seconds to wait before the next attempt.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: RETRY_AFTER_S
  }
}

/** Returns a component name, such as `NotFound` for 404. */
function nameOf(status: number): string {
  return String(STATUS_CODES[status]).replaceAll(' ', '')
}
