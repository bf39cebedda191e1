/** Routes for signing in. Each route creates a session, whose token is stored only in the cookie. */

import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { Refusal } from '../../../lib/errors.ts'
import { type Cookie, DeviceCookie } from '../../../lib/http/people/cookie.ts'
import type { RequestOf } from '../../../lib/http/route.ts'
import { noteUnlimited, subjectsOf, tryPassword } from '../../../lib/people/attempts.ts'
import { foldEmail } from '../../../lib/people/email.ts'
import { readShownFactor } from '../../../lib/people/factors/shown-factor.ts'
import { digestToken, makeToken } from '../../../lib/people/tokens.ts'
import type { Visitor } from '../../../lib/people/visit.ts'
import { closed } from '../../../lib/schema/object.ts'
import { noteFailedSignIn } from '../../../lib/store/people/failed-sign-ins.ts'
import { readFactor } from '../../../lib/store/people/second-factors.ts'
import { type NewSession, readPassword, signInByLink, signInByPassword } from '../../../lib/store/people/sessions.ts'
import type { ShownFactor } from '../../../lib/store/people/using-factor.ts'
import { bodyReader, pageRoute } from '../page-routes.ts'
import { NothingReply } from '../replies.ts'

/** User who must sign in. Set by a page that will repeat the user's interrupted action. */
const userId = Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }))
const LinkBody = closed({ token: Type.String({ maxLength: 100 }), userId })
const PasswordBody = closed({
  email: Type.String({ maxLength: 500 }),
  password: Type.String({ maxLength: 4000 }),
  /** A code of the authenticator app, or a recovery code. */
  code: Type.Optional(Type.String({ maxLength: 100 })),
  userId
})

/** Error message for password sign-ins if DASHBOARD_SIGN_IN is oidc. */
export const PROVIDER_ONLY = 'On this server, people sign in through the OpenID Connect provider, not with passwords.'
const WRONG = 'The address or password is incorrect.'
const CODE_NEEDED = 'Enter the code that your authenticator app shows, or a recovery code.'
const CODE_WRONG = "The code is incorrect or has already been used. Wait for your app's next code."
const USED = 'This link has already been used or has expired. Ask for another.'
const NOT_YOURS = 'This link has already been used, has expired, or is for somebody else. Ask for another.'
const SOMEBODY_ELSE = 'Sign in as the same person to continue, or reload the page to sign in as someone else.'

interface GivenCode {
  readonly userId: number
  readonly email: string
  readonly code: string | undefined
}

export default function signIn(app: App): void {
  const readLink = bodyReader(LinkBody)
  const readCredentials = bodyReader(PasswordBody)
  const { sql, cookie, config } = app
  const devices = new DeviceCookie(app.secrets)

  pageRoute(app, {
    method: 'POST',
    path: '/app/api/sign-in/link',
    access: 'guest',
    smallBody: true,
    replies: { 204: NothingReply },
    async handler(request) {
      const { token, userId: only } = readLink(request.payload)
      const link = digestToken(token)
      const { session, kept } = newSession(cookie, request)
      const userId = link && (await sql.write((each, attempts) => signInByLink(each, link, session, attempts, only)))
      if (userId === undefined) {
        await noteUnlimited(sql, { userId: null, client: request.client, means: 'link' })
        throw new Refusal('sign_in_required', only === undefined ? USED : NOT_YOURS)
      }
      return { status: 204, headers: { 'Set-Cookie': kept } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: '/app/api/sign-in/password',
    access: 'guest',
    smallBody: true,
    replies: { 204: NothingReply },
    async handler(request) {
      if (config.oidc?.only) throw new Refusal('forbidden', PROVIDER_ONLY)
      const { email: given, password, code, userId: only } = readCredentials(request.payload)
      const email = withoutNul(foldEmail(given))
      const known = await sql.read(each => readPassword(each, email))
      const stored = known?.password ?? null
      const header = request.headers.cookie as string | undefined
      const visitor = request.visitor as Visitor | undefined
      const own = visitor?.userId === known?.userId ? visitor?.session : undefined
      const device = known && (devices.read(header, known.userId) ?? own ?? undefined)
      const subjects = subjectsOf(email, request.client, device)
      const isRight = await tryPassword(sql, subjects, password, stored)
      if (!isRight || known === undefined || stored === null) {
        const failed = { userId: known?.userId ?? null, client: request.client, means: 'password' } as const
        await sql.write(each => noteFailedSignIn(each, failed))
        throw new Refusal('sign_in_required', WRONG)
      }
      // Checked after the password, because an earlier check would reveal which user an e-mail address belongs to.
      if (only !== undefined && only !== known.userId) throw new Refusal('forbidden', SOMEBODY_ELSE)
      const { session, kept } = newSession(cookie, request)
      const factor = await showFactor({ userId: known.userId, email, code }, request.client)
      const proven = {
        userId: known.userId,
        password: stored,
        own: subjects.own.name,
        network: subjects.network?.name,
        factor
      }
      const userId = await sql.write((each, attempts) => signInByPassword(each, proven, session, attempts))
      if (userId === undefined) {
        if (factor !== undefined) await refuseCode(known.userId, request.client)
        throw new Refusal('sign_in_required', WRONG)
      }
      return { status: 204, headers: { 'Set-Cookie': [kept, devices.keep(header, userId)] } }
    }
  })

  /** Returns the second factor that the code proves. Throws `code_required` if it is missing or wrong. */
  async function showFactor(given: GivenCode, client: string): Promise<ShownFactor> {
    const { userId } = given
    const stored = await sql.read(each => readFactor(each, userId))
    const shown = readShownFactor(stored, given, app.secrets)
    if (shown === 'missing') throw new Refusal('code_required', CODE_NEEDED)
    return shown === 'wrong' ? refuseCode(userId, client) : shown
  }

  async function refuseCode(userId: number, client: string): Promise<never> {
    await sql.write(each => noteFailedSignIn(each, { userId, client, means: 'factor' }))
    throw new Refusal('code_required', CODE_WRONG)
  }
}

/** Returns a session that the caller must store, and the Set-Cookie header with its token. */
export function newSession(
  cookie: Cookie,
  { headers, client }: Pick<RequestOf<unknown>, 'headers' | 'client'>
): { readonly session: NewSession; readonly kept: string } {
  const token = makeToken()
  const before = cookie.read(headers.cookie as string | undefined)
  const session = {
    digest: digestToken(token) as string,
    client,
    agent: withoutNul(String(headers['user-agent'] ?? '')),
    replaces: before === undefined ? undefined : digestToken(before)
  }
  return { session, kept: cookie.keep(token) }
}

/** Removes U+0000, which a PostgreSQL text column cannot store. */
const withoutNul = (text: string): string => text.replaceAll('\0', '').toWellFormed()
