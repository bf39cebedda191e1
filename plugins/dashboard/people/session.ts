/** Routes for the signed-in user's sessions and password. */
import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { Refusal } from '../../../lib/errors.ts'
import { found, refuseField } from '../../../lib/http/refuse.ts'
import { subjectsOf, tryPassword } from '../../../lib/people/attempts.ts'
import { requireFresh } from '../../../lib/people/fresh.ts'
import { faultOfPassword, hashPassword } from '../../../lib/people/passwords.ts'
import { digestToken } from '../../../lib/people/tokens.ts'
import type { Visitor } from '../../../lib/people/visit.ts'
import { closed } from '../../../lib/schema/object.ts'
import { noteFailedSignIn } from '../../../lib/store/people/failed-sign-ins.ts'
import {
  endSession,
  hasPasswords,
  listWebSessions,
  readPassword,
  setPassword
} from '../../../lib/store/people/sessions.ts'
import { listSeenProjects } from '../../../lib/store/people/users.ts'
import { bodyReader, pageRoute, readRoute } from '../page-routes.ts'
import { DoneReply, NothingReply, SessionReply, SessionsReply } from '../replies.ts'
import { PROVIDER_ONLY } from './sign-in.ts'

const PasswordBody = closed({
  /** Current password; omitted if there is none. */
  current: Type.Optional(Type.String({ maxLength: 4000 })),
  /** New password; null removes the password. */
  password: Type.Union([Type.String({ maxLength: 4000 }), Type.Null()])
})

const SESSION_ID = /^[0-9a-f]{64}$/

export default function session(app: App): void {
  const { sql, cookie, config } = app
  const { publicLinks } = config
  const onlyOidc = config.oidc?.only === true
  const readPasswords = bodyReader(PasswordBody)

  pageRoute(app, {
    method: 'GET',
    path: '/app/api/session',
    access: 'guest',
    replies: { 200: SessionReply },
    async handler(request) {
      const visitor = request.visitor as Visitor | undefined
      const signIn = {
        password: !onlyOidc && (await sql.read(each => hasPasswords(each), request)),
        oidc: config.oidc !== undefined,
        onlyOidc,
        proxy: config.authProxy !== undefined,
        signOutUrl: config.authProxy?.signOutUrl ?? null
      }
      if (visitor === undefined) return { body: { user: null, projects: [], publicLinks, signIn } }
      const { userId: id, email, name, hasPassword, hasFactor } = visitor
      const projects = await sql.read(each => listSeenProjects(each, id), request)
      // Each request extends the cookie along with the session.
      const token = visitor.session === null ? undefined : cookie.read(request.headers.cookie as string | undefined)
      return {
        ...(token !== undefined && { headers: { 'Set-Cookie': cookie.keep(token) } }),
        body: { user: { id, email, name, hasPassword, hasFactor }, projects, publicLinks, signIn }
      }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: '/app/api/session',
    access: 'guest',
    replies: { 204: NothingReply },
    async handler({ visitor, headers, client }) {
      const token = cookie.read(headers.cookie as string | undefined)
      const digest = token === undefined ? undefined : digestToken(token)
      const user = visitor as Visitor | undefined
      if (user !== undefined && digest !== undefined) {
        await sql.write(each => endSession(each, user.userId, digest, client))
      }
      return { status: 204, headers: { 'Set-Cookie': cookie.forget() } }
    }
  })

  readRoute(app, '/app/api/sessions', {
    replies: { 200: SessionsReply },
    async handler(request) {
      const { userId, session: current } = request.visitor
      const rows = await sql.read(each => listWebSessions(each, userId), request)
      return { body: { sessions: rows.map(row => ({ ...row, current: row.id === current })) } }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: '/app/api/sessions/:sessionId',
    access: 'visitor',
    replies: { 200: DoneReply },
    async handler({ visitor, params, client }) {
      const { sessionId = '' } = params
      const isEnded =
        SESSION_ID.test(sessionId) && (await sql.write(each => endSession(each, visitor.userId, sessionId, client)))
      found(isEnded, 'session of yours')
      return { body: { ok: true } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: '/app/api/password',
    access: 'visitor',
    smallBody: true,
    replies: { 200: DoneReply },
    async handler({ visitor, payload, client }) {
      if (onlyOidc) throw new Refusal('forbidden', PROVIDER_ONLY)
      const { current, password } = readPasswords(payload)
      const { userId, session: keep } = visitor
      const fault = password === null ? undefined : faultOfPassword(password)
      if (fault !== undefined) refuseField('password', fault)
      await proveCurrent(visitor, current, client)
      const stored = password === null ? null : await hashPassword(password)
      if (!(await sql.write(each => setPassword(each, userId, stored, { by: userId, keep, client })))) {
        throw new Refusal('sign_in_required', 'Your session has just ended; sign in again.')
      }
      return { body: { ok: true } }
    }
  })

  /**
   * Requires the current password or, if there is none, a fresh sign-in. Otherwise a stranger at a signed-in browser
   * could lock the user out or keep access for good.
   */
  async function proveCurrent(visitor: Visitor, current: string | undefined, client: string): Promise<void> {
    const { email, session } = visitor
    const stored = (await sql.read(each => readPassword(each, email)))?.password ?? null
    if (stored === null) return requireFresh(visitor)
    if (current === undefined) refuseField('current', 'is required, because you already have a password')
    const subjects = subjectsOf(email, client, session ?? undefined)
    if (await tryPassword(sql, subjects, current as string, stored)) return
    await sql.write(each => noteFailedSignIn(each, { userId: visitor.userId, client, means: 'password' }))
    refuseField('current', 'is incorrect')
  }
}
