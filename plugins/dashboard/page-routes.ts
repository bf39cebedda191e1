/** Registers the dashboard's routes, each with the guard and the headers from guard.ts. */
import Type, { type Static, type TObject, type TSchema } from 'typebox'
import type { App } from '../../lib/app.ts'
import { Refusal } from '../../lib/errors.ts'
import { checkQueryTexts, refuseField } from '../../lib/http/refuse.ts'
import type { Reply, RequestOf, RouteOptions } from '../../lib/http/route.ts'
import { transportSecurity } from '../../lib/http/transport-security.ts'
import { requireFresh } from '../../lib/people/fresh.ts'
import { checker } from '../../lib/schema/check.ts'
import { readBody } from '../../lib/trace/body.ts'
import { HEADERS, siteGuard } from './guard.ts'

export const IN_PROJECT = '/app/api/p/:slug'

/** Maximum size of a body with only a few short fields. */
const SMALL_BODY_BYTES = 16_384
/** Maximum value of a PostgreSQL integer. */
const MAX_ID = 2 ** 31 - 1

const NO_QUERY = Type.Object({})

/** Options that differ between routes. The page and its tests use the reply schemas, which no API document lists. */
type PageRoute<Q extends TObject = typeof NO_QUERY> = Pick<
  RouteOptions<Q>,
  'method' | 'path' | 'access' | 'query' | 'takesBody' | 'replies' | 'handler'
> & {
  /** Whether the route accepts a body with only a few short fields. */
  readonly smallBody?: true
  /** Whether the route requires a fresh sign-in (lib/people/fresh.ts). */
  readonly fresh?: true
}

export function pageRoute<Q extends TObject = typeof NO_QUERY>(
  app: App,
  { fresh, smallBody, handler: own, ...route }: PageRoute<Q>
): void {
  const handler = fresh === true ? onlyFresh(own) : own
  app.route<Q>({
    ...route,
    ...(smallBody && { takesBody: true, maxBodyBytes: SMALL_BODY_BYTES }),
    handler: route.method === 'GET' ? handler : thenForget(app, handler),
    summary: '',
    answerHeaders: { ...HEADERS, ...transportSecurity(app.config) },
    guard: siteGuard(app.config, route)
  })
}

/** Registers a read that every signed-in visitor may call; within a project, every member of its account. */
export function readRoute<Q extends TObject = typeof NO_QUERY>(
  app: App,
  path: string,
  route: Pick<PageRoute<Q>, 'query' | 'replies' | 'handler'>
): void {
  pageRoute<Q>(app, { method: 'GET', path, access: 'visitor', ...route })
}

/**
 * Discards cached permissions after a request, so that users see their own changes immediately; the database's
 * notification may arrive after the response. Anonymous requests discard nothing, because a flood of such requests
 * would slow down other users.
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

/** Reads an id in a path; returns undefined if no row can have this id. */
export function readId(text = ''): number | undefined {
  return /^[1-9]\d{0,9}$/.test(text) && Number(text) <= MAX_ID ? Number(text) : undefined
}

/** Returns a name without surrounding spaces. Throws `invalid_request` if it is empty or contains a line break. */
export function readName(field: string, given: string): string {
  const name = given.trim()
  if (name === '') refuseField(field, 'must not be empty')
  checkLine(field, name)
  return name
}

/** Throws `invalid_request` if a text cannot be stored or contains control characters. */
export function checkLine(field: string, text: string): void {
  checkQueryTexts({ [field]: text })
  if (/\p{Cc}/u.test(text)) refuseField(field, 'must not contain control characters')
}

/** Creates the reader of a small body. The reader throws `invalid_json` and `invalid_request`. */
export function bodyReader<T extends TSchema>(schema: T): (payload: Uint8Array) => Static<T> {
  const { check, explain } = checker(schema)
  return payload => {
    const { value, exact } = readBody(payload, 'invalid_request')
    if (!check(value, exact)) throw new Refusal('invalid_request', explain(exact))
    return value
  }
}
