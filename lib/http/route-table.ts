/** The routes that plugins registered, compiled for requests: which one a request is for, and what it must satisfy. */
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { type QueryReader, queryReader } from './query.ts'
import type { Route } from './route.ts'

/** A route and what was compiled from its schemas. */
export interface Endpoint {
  readonly route: Route
  /** Undefined: the route takes no parameters, and those that are sent are passed over. */
  readonly readQuery: QueryReader | undefined
}

export interface Match {
  readonly endpoint: Endpoint
  readonly params: Readonly<Record<string, string | undefined>>
  /** As it was sent, without `?`. */
  readonly querystring: string
}

/** Longer than any path that node's parser lets in, so that the length of a path id is checked where its form is. */
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

  /** Undefined where the path is unknown, not decodable, or has no route with this method. */
  find(method: string, url: string): Match | undefined {
    const found = this.#router.find(method as HTTPMethod, url)
    // The router takes `/traces/` for a trace with an empty id; a trailing slash makes another path.
    if (found === null || found.params.traceId === '' || found.params.scoreId === '') return undefined
    return { endpoint: found.store, params: found.params, querystring: found.searchParams as unknown as string }
  }

  /** The methods that the path of this address knows; empty: the path is unknown. */
  allowed(url: string): string[] {
    return [...this.#methods].filter(method => this.find(method, url) !== undefined)
  }
}
