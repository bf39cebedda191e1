/** The table of routes that plugins registered. It finds the route of a request. */
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { type QueryReader, queryReader } from './query.ts'
import type { Route } from './route.ts'

/** A route, and what was compiled from its schemas. */
export interface Endpoint {
  readonly route: Route
  /** Undefined if the route takes no parameters; parameters that are sent are then ignored. */
  readonly readQuery: QueryReader | undefined
}

export interface Match {
  readonly endpoint: Endpoint
  readonly params: Readonly<Record<string, string | undefined>>
  /** The query string as it was sent, without `?`. */
  readonly querystring: string
}

/** Longer than any path that node's parser accepts: the router shall not check the length of an id, path-id.ts does. */
const MAX_PARAM_LENGTH = 1 << 20

export class RouteTable {
  readonly routes: Route[] = []
  readonly #methods = new Set<HTTPMethod>()
  readonly #router = findMyWay({ maxParamLength: MAX_PARAM_LENGTH, querystringParser: text => text })

  add(route: Route): void {
    const { method, path, query } = route
    const endpoint: Endpoint = { route, readQuery: query && queryReader(query) }
    const methods: HTTPMethod[] = method === 'GET' ? ['GET', 'HEAD'] : [method]
    this.#router.on(methods, path, () => {}, endpoint)
    for (const each of methods) this.#methods.add(each)
    this.routes.push(route)
  }

  /** The route for a request. Undefined if the path is unknown, not decodable, or has no route with this method. */
  find(method: string, url: string): Match | undefined {
    const found = this.#router.find(method as HTTPMethod, url)
    // The router takes `/traces/` for a trace with an empty id, but a path with a trailing slash is unknown.
    if (found === null || hasEmpty(found.params)) return undefined
    return { endpoint: found.store, params: found.params, querystring: found.searchParams as unknown as string }
  }

  /** The methods that this path has routes for; empty if the path is unknown. */
  allowed(url: string): string[] {
    return [...this.#methods].filter(method => this.find(method, url) !== undefined)
  }
}

/** Whether a named parameter is empty. Only the value of a wildcard may be empty. */
function hasEmpty(params: Readonly<Record<string, string | undefined>>): boolean {
  for (const name in params) if (params[name] === '' && name !== '*') return true
  return false
}
