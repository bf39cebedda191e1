/** How the dashboard's routes are registered: none without its guard and headers. */
import Type, { type Static, type TObject, type TSchema } from 'typebox'
import type { App } from '../../lib/app.ts'
import { Refusal } from '../../lib/errors.ts'
import type { Reply, RequestOf, RouteOptions } from '../../lib/http/route.ts'
import { requireFresh } from '../../lib/people/fresh.ts'
import { checker } from '../../lib/schema/check.ts'
import { readBody } from '../../lib/trace/body.ts'
import { HEADERS, siteGuard } from './guard.ts'

/** A project and what is under it. */
export const IN_PROJECT = '/app/api/p/:slug'

/** The most bytes of a body that only has a few short fields. */
export const SMALL_BODY_BYTES = 16_384

const NO_QUERY = Type.Object({})

/** The options that differ between the routes. No document lists them; the page and its tests read the replies. */
export type PageRoute<Q extends TObject = typeof NO_QUERY> = Pick<
  RouteOptions<Q>,
  'method' | 'path' | 'access' | 'query' | 'takesBody' | 'maxBodyBytes' | 'replies' | 'handler'
> & {
  /** Whether it asks for a fresh sign-in (lib/people/fresh.ts). */
  readonly fresh?: true
}

/** Registers a route of the dashboard. */
export function pageRoute<Q extends TObject = typeof NO_QUERY>(
  app: App,
  { fresh, handler: own, ...route }: PageRoute<Q>
): void {
  const handler = fresh === true ? onlyFresh(own) : own
  app.route<Q>({
    ...route,
    handler: route.method === 'GET' ? handler : thenForget(app, handler),
    summary: '',
    answerHeaders: HEADERS,
    guard: siteGuard(app.config, route)
  })
}

/**
 * A user who changes permissions sees the change with the next request. The notice of the database, by which other
 * processes hear of it, may come later than the answer. Requests of strangers forget nothing: a flood of theirs would
 * cost others time.
 */
function thenForget<Q>(app: App, handler: Handler<Q>): Handler<Q> {
  return async request => {
    const reply = await handler(request)
    if (request.visitor !== undefined) app.forget()
    return reply
  }
}

function onlyFresh<Q>(handler: Handler<Q>): Handler<Q> {
  return request => {
    requireFresh(request.visitor)
    return handler(request)
  }
}

type Handler<Q> = (request: RequestOf<Q>) => Reply | Promise<Reply>

/** Makes the reader of a small body. It throws `invalid_json` and `invalid_request`. */
export function bodyReader<T extends TSchema>(schema: T): (payload: Uint8Array) => Static<T> {
  const { check, explain } = checker(schema)
  return payload => {
    const { value, exact } = readBody(payload, 'invalid_request')
    if (!check(value, exact)) throw new Refusal('invalid_request', explain(exact))
    return value
  }
}
