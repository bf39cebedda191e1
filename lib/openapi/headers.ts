/** Describes response headers. */
import type { Components, SchemaJson } from './components.ts'
import { REQUEST_ID } from './examples.ts'

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

/** Returns success responses' headers. `declared` are the route's own, which extend or replace the common ones. */
export function replyHeaders(declared: Readonly<Record<string, string>> = {}, components: Components): SchemaJson {
  const own = Object.entries(declared).map(([name, description]) => [
    name,
    { description, required: true, schema: { type: 'string' } }
  ])
  return { ...everyHeader(components), ...Object.fromEntries(own) }
}
