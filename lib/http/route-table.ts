/** Finds a request's route among the routes that plugins registered. */
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { type QueryReader, queryReader } from './query.ts'
import type { Route } from './route.ts'

export interface Endpoint {
  readonly route: Route
  /** Reader of the route's query; undefined if the route has no query schema and therefore ignores query parameters. */
  readonly readQuery: QueryReader | undefined
}

export interface RouteMatch {
  readonly endpoint: Endpoint
  readonly params: Readonly<Record<string, string | undefined>>
  /** The query string as sent, without `?`. */
  readonly querystring: string
}

/**
 * Longer than any path that Node's parser accepts, so that the router imposes no limit. The path-id.ts module checks
 * the length of ids.
 */
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

  /** Returns a request's route; undefined if the path is unknown, undecodable, or without a route for the method. */
  find(method: string, url: string): RouteMatch | undefined {
    const found = this.#router.find(method as HTTPMethod, url)
    // The router matches `/traces/` with an empty id, but a path with a trailing slash must be treated as unknown.
    if (found === null || hasEmpty(found.params)) return undefined
    return { endpoint: found.store, params: found.params, querystring: found.searchParams as unknown as string }
  }

  /** Returns the methods for which this path has a route; empty if the path is unknown. */
  allowed(url: string): string[] {
    return [...this.#methods].filter(method => this.find(method, url) !== undefined)
  }
}

/** Returns whether a named parameter is empty. Only a wildcard's value may be empty. */
function hasEmpty(params: Readonly<Record<string, string | undefined>>): boolean {
  for (const name in params) if (params[name] === '' && name !== '*') return true
  return false
}
