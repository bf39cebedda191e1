/** The ways in. Each makes a new session, whose token goes into the cookie and nowhere else. */
import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { Refusal } from '../../../lib/errors.ts'
import { DeviceCookie } from '../../../lib/http/people/device-cookie.ts'
import { subjectsOf, tryPassword } from '../../../lib/people/attempts.ts'
import { foldEmail } from '../../../lib/people/email.ts'
import { digestToken } from '../../../lib/people/tokens.ts'
import type { Visitor } from '../../../lib/people/visit.ts'
import { closed } from '../../../lib/schema/object.ts'
import { signInByLink } from '../../../lib/store/people/links.ts'
import { readPassword, signInByPassword } from '../../../lib/store/people/passwords.ts'
import { bodyReader, pageRoute, SMALL_BODY_BYTES } from '../page-routes.ts'
import { newSession, PROVIDER_ONLY, storable } from './new-session.ts'

const LinkBody = closed({ token: Type.String({ maxLength: 100 }) })
const PasswordBody = closed({ email: Type.String({ maxLength: 500 }), password: Type.String({ maxLength: 4000 }) })

const WRONG = 'The address or the password is wrong.'
const USED = 'This link was used already, or is too old. Ask for another.'

export default function signIn(app: App): void {
  const readLink = bodyReader(LinkBody)
  const readCredentials = bodyReader(PasswordBody)
  const { sql, cookie, config } = app
  const devices = new DeviceCookie(config.baseUrl, cookie.name, app.digestSecret)

  pageRoute(app, {
    method: 'POST',
    path: '/app/api/sign-in/link',
    access: 'guest',
    takesBody: true,
    maxBodyBytes: SMALL_BODY_BYTES,
    async handler(request) {
      const link = digestToken(readLink(request.payload).token)
      const { session, kept } = newSession(cookie, request)
      const userId = link && (await sql.write((each, attempts) => signInByLink(each, link, session, attempts)))
      if (userId === undefined) throw new Refusal('sign_in_required', USED)
      return { status: 204, headers: { 'Set-Cookie': kept } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: '/app/api/sign-in/password',
    access: 'guest',
    takesBody: true,
    maxBodyBytes: SMALL_BODY_BYTES,
    async handler(request) {
      if (config.oidc?.only) throw new Refusal('forbidden', PROVIDER_ONLY)
      const { email: given, password } = readCredentials(request.payload)
      const email = storable(foldEmail(given))
      const known = await sql.read(each => readPassword(each, email))
      const stored = known?.password ?? null
      const header = request.headers.cookie as string | undefined
      const visitor = request.visitor as Visitor | undefined
      const own = visitor?.userId === known?.userId ? visitor?.session : undefined
      const device = known && (devices.read(header, known.userId) ?? own ?? undefined)
      const subjects = subjectsOf(email, request.client, device)
      const isRight = await tryPassword(sql, subjects, password, stored)
      if (!isRight || known === undefined || stored === null) throw new Refusal('sign_in_required', WRONG)
      const { session, kept } = newSession(cookie, request)
      const proven = { userId: known.userId, password: stored, own: subjects.own.name, network: subjects.network?.name }
      const userId = await sql.write((each, attempts) => signInByPassword(each, proven, session, attempts))
      if (userId === undefined) throw new Refusal('sign_in_required', WRONG)
      return { status: 204, headers: { 'Set-Cookie': [kept, devices.keep(header, userId)] } }
    }
  })
}
