/** What every way in does: a new session, whose token goes into the cookie and nowhere else. */
import type { Cookie } from '../../../lib/http/people/cookie.ts'
import type { RequestOf } from '../../../lib/http/route.ts'
import { digestToken, makeToken } from '../../../lib/people/tokens.ts'
import type { NewSession } from '../../../lib/store/people/sessions.ts'

/** Where DASHBOARD_SIGN_IN is oidc. */
export const PROVIDER_ONLY = 'People sign in by the provider of OpenID Connect here, not with passwords.'

/** A session that is yet to be stored, and the Set-Cookie header that hands its token over. */
export function newSession(
  cookie: Cookie,
  { headers }: Pick<RequestOf<unknown>, 'headers'>
): { readonly session: NewSession; readonly kept: string } {
  const token = makeToken()
  const before = cookie.read(headers.cookie as string | undefined)
  const session = {
    digest: digestToken(token) as string,
    agent: withoutNul(String(headers['user-agent'] ?? '')),
    replaces: before === undefined ? undefined : digestToken(before)
  }
  return { session, kept: cookie.keep(token) }
}

/** Leaves out U+0000, which a text column cannot store. */
export const withoutNul = (text: string): string => text.replaceAll('\0', '').toWellFormed()
