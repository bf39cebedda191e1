/** The ways in. Each makes a new session, whose token goes into the cookie and nowhere else. */
import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { Refusal } from '../../../lib/errors.ts'
import type { Reply, RequestOf } from '../../../lib/http/route.ts'
import { subjectsOf } from '../../../lib/people/attempts.ts'
import { foldEmail } from '../../../lib/people/email.ts'
import { isPassword } from '../../../lib/people/passwords.ts'
import { digestToken, makeToken } from '../../../lib/people/tokens.ts'
import { closed } from '../../../lib/schema/object.ts'
import { signInByLink } from '../../../lib/store/people/links.ts'
import { countAttempt, readPassword, signInByPassword } from '../../../lib/store/people/passwords.ts'
import type { NewSession } from '../../../lib/store/people/sessions.ts'
import { bodyReader, pageRoute, SMALL_BODY_BYTES } from '../page-routes.ts'

const LinkBody = closed({ token: Type.String({ maxLength: 100 }) })
const PasswordBody = closed({ email: Type.String({ maxLength: 500 }), password: Type.String({ maxLength: 4000 }) })

const WRONG = 'The address or the password is wrong.'
const USED = 'This link was used already, or is too old. Ask for another: `spoor user link` prints one.'

export default function signIn(app: App): void {
  const readLink = bodyReader(LinkBody)
  const readCredentials = bodyReader(PasswordBody)
  const { sql, cookie } = app

  /** A session that is yet to be stored, and the answer that hands its token over. */
  function prepare({ headers }: Pick<RequestOf<unknown>, 'headers'>): { session: NewSession; reply: Reply } {
    const token = makeToken()
    const before = cookie.read(headers.cookie as string | undefined)
    const session = {
      digest: digestToken(token) as string,
      agent: storable(String(headers['user-agent'] ?? '')),
      replaces: before === undefined ? undefined : digestToken(before)
    }
    return { session, reply: { status: 204, headers: { 'Set-Cookie': cookie.keep(token) } } }
  }

  pageRoute(app, {
    method: 'POST',
    path: '/app/api/sign-in/link',
    access: 'guest',
    takesBody: true,
    maxBodyBytes: SMALL_BODY_BYTES,
    async handler(request) {
      const link = digestToken(readLink(request.payload).token)
      const { session, reply } = prepare(request)
      const userId = link && (await sql.write((each, attempts) => signInByLink(each, link, session, attempts)))
      if (userId === undefined) throw new Refusal('sign_in_required', USED)
      return reply
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: '/app/api/sign-in/password',
    access: 'guest',
    takesBody: true,
    maxBodyBytes: SMALL_BODY_BYTES,
    async handler(request) {
      const { email: given, password } = readCredentials(request.payload)
      const email = storable(foldEmail(given))
      const { person, network } = subjectsOf(email, request.client)
      const waitS = await sql.write(each => countAttempt(each, [person, network]))
      if (waitS !== undefined) throw tooMany(waitS)
      const known = await sql.read(each => readPassword(each, email))
      const stored = known?.password ?? null
      const isRight = await isPassword(password, stored)
      if (!isRight || known === undefined || stored === null) throw new Refusal('sign_in_required', WRONG)
      const { session, reply } = prepare(request)
      const proven = { userId: known.userId, password: stored, person: person.name, network: network.name }
      const userId = await sql.write((each, attempts) => signInByPassword(each, proven, session, attempts))
      if (userId === undefined) throw new Refusal('sign_in_required', WRONG)
      return reply
    }
  })
}

/** What a text column takes: PostgreSQL has no U+0000. */
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

function tooMany(waitS: number): Refusal {
  const message = `Too many passwords were tried; try again in ${Math.ceil(waitS / 60)} minutes, or use a link.`
  return new Refusal('too_many_attempts', message, { 'Retry-After': String(waitS) })
}
