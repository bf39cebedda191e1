/** Describes response headers. */
import type { Components, SchemaJson } from './components.ts'
import { REQUEST_ID } from './examples.ts'

/** Returns the headers of every response. */
export function everyHeader(components: Components): SchemaJson {
  return {
    'X-Request-Id': components.add('headers', 'RequestId', {
      description: 'Made by the server for each request; quote it when something is wrong.',
      required: true,
      schema: { type: 'string' },
      example: REQUEST_ID
    }),
    'Cache-Control': components.add('headers', 'NoStore', {
      description: 'Answers are not to be cached.',
      required: true,
      schema: { type: 'string', const: 'no-store' }
    })
  }
}

/**
 * Returns the headers of a route's success responses. `declared` are the route's own headers, which add to the common
 * headers or replace them.
 */
export function replyHeaders(declared: Readonly<Record<string, string>> = {}, components: Components): SchemaJson {
  const own = Object.entries(declared).map(([name, description]) => [
    name,
    { description, required: true, schema: { type: 'string' } }
  ])
  return { ...everyHeader(components), ...Object.fromEntries(own) }
}
