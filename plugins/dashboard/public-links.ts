/**
 * Routes of public links. An owner creates a link to a trace, and anyone who has the link can see this trace without
 * signing in. The token is in the address's fragment and in a request's body, so it appears in no log.
 */
import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import type { Client } from '../../lib/database/pooled/cancellation.ts'
import { Refusal } from '../../lib/errors.ts'
import { found } from '../../lib/http/refuse.ts'
import { digestToken, makeToken } from '../../lib/people/tokens.ts'
import { closed } from '../../lib/schema/object.ts'
import { SHARED_PARTS } from '../../lib/store/answers/trace-json.ts'
import {
  findLinkedTrace,
  insertPublicLink,
  type LinkedTrace,
  listPublicLinks,
  MOST_PUBLIC_LINKS,
  revokePublicLink
} from '../../lib/store/projects/public-links.ts'
import { readWhole } from '../traces/whole-trace.ts'
import { entryOf } from './acting.ts'
import { bodyReader, IN_PROJECT, pageRoute, readId } from './page-routes.ts'
import { DoneReply, PublicLinkReply, PublicLinksReply, SharedTraceReply } from './replies.ts'

const LINKS = `${IN_PROJECT}/traces/:traceId/public-links`
const MOST_DAYS = 90

const LinkBody = closed({ days: Type.Integer({ minimum: 1, maximum: MOST_DAYS }) })
const TokenBody = closed({ token: Type.String({ maxLength: 100 }) })

export default function publicLinks(app: App): void {
  const { sql, config } = app
  const readLink = bodyReader(LinkBody)
  const readToken = bodyReader(TokenBody)
  const requireOn = () => {
    if (!config.publicLinks) throw new Refusal('forbidden', 'Public links are off on this server (PUBLIC_LINKS).')
  }

  pageRoute(app, {
    method: 'GET',
    path: LINKS,
    access: 'owner',
    replies: { 200: PublicLinksReply },
    async handler(request) {
      requireOn()
      const trace = await linkedTrace(request.project.id, request.traceId, request)
      return { body: { links: await sql.read(each => listPublicLinks(each, trace), request) } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: LINKS,
    access: 'owner',
    smallBody: true,
    replies: { 201: PublicLinkReply },
    async handler(request) {
      requireOn()
      const { days } = readLink(request.payload)
      const { project, traceId, visitor } = request
      const trace = await linkedTrace(project.id, traceId, request)
      const token = makeToken()
      const link = { ...trace, digest: digestToken(token)!, userId: visitor.userId, days }
      const entry = entryOf(request, 'public-link.make', { traceId, days })
      const made = await sql.write(each => insertPublicLink(each, link, entry))
      if (made === undefined) {
        throw new Refusal('conflict', `A trace can have at most ${MOST_PUBLIC_LINKS} public links: revoke one first.`)
      }
      return { status: 201, body: { ...made, token } }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: `${IN_PROJECT}/public-links/:linkId`,
    access: 'owner',
    replies: { 200: DoneReply },
    async handler(request) {
      const id = found(readId(request.params.linkId), 'public link in this project')
      const entry = entryOf(request, 'public-link.revoke', { linkId: id })
      const isRevoked = await sql.write(each => revokePublicLink(each, request.project.id, id, entry))
      found(isRevoked || undefined, 'public link in this project')
      return { body: { ok: true } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: '/app/api/shared',
    access: 'guest',
    smallBody: true,
    replies: { 200: SharedTraceReply },
    async handler(request) {
      const digest = digestToken(readToken(request.payload).token)
      const trace =
        config.publicLinks && digest !== undefined
          ? await sql.read(each => findLinkedTrace(each, digest), request)
          : undefined
      const isThere = trace && (await readNumber(trace.projectId, trace.traceId, request)) === trace.seq
      if (!isThere) throw new Refusal('not_found', GONE)
      return { body: await readWhole(app, trace.projectId, trace.traceId, SHARED_PARTS, request) }
    }
  })

  /** Returns the trace's number; undefined if the project has no such trace. */
  const readNumber = (projectId: number, traceId: string, client: Client): Promise<number | undefined> =>
    sql.readOf(
      projectId,
      async (each, names) => {
        const [row] = await each<{ seq: number }[]>`
          select seq::float8 as seq from ${each.unsafe(names.traces)}
          where project_id = ${projectId} and id = ${traceId}::uuid`
        return row?.seq
      },
      client
    )
  const linkedTrace = async (projectId: number, traceId: string, client: Client): Promise<LinkedTrace> => ({
    ...{ projectId, traceId },
    seq: found(await readNumber(projectId, traceId, client))
  })
}

const GONE = 'This link does not exist, has expired, or was revoked.'
