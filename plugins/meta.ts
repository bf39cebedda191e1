/** Serves the API index. */
import type { App } from '../lib/app.ts'
import type { Route } from '../lib/http/route.ts'
import { ApiIndex } from '../lib/schema/output.ts'

export default function meta(app: App) {
  app.route({
    method: 'GET',
    path: '/api/v1',
    operation: 'getIndex',
    access: 'public',
    summary: 'List the endpoints',
    replies: { 200: ApiIndex },
    handler({ baseUrl }) {
      const body = {
        name: 'spoor',
        version: '1',
        openapi: `${baseUrl}/api/v1/openapi.json`,
        docs: `${baseUrl}/docs`,
        mcp: `${baseUrl}/api/mcp`,
        endpoints: listEndpoints(app.routes),
        auth: `Authorization: Bearer ${app.config.keyPrefix}_live_<keyId>_<secret>`
      }
      return { body }
    }
  })
}

/** Maps each documented operation's name to `METHOD path`. */
function listEndpoints(routes: readonly Route[]): Record<string, string> {
  const documented = routes.filter(route => route.operation !== undefined)
  return Object.fromEntries(
    documented.map(({ operation, method, path }) => [operation, `${method} ${path.replace(/:(\w+)/g, '{$1}')}`])
  )
}
