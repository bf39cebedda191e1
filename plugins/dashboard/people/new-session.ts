/** Creates the session for every kind of sign-in. The token is stored only in the cookie. */
import type { Cookie } from '../../../lib/http/people/cookie.ts'
import type { RequestOf } from '../../../lib/http/route.ts'
import { digestToken, makeToken } from '../../../lib/people/tokens.ts'
import type { NewSession } from '../../../lib/store/people/sessions.ts'

/** Error message for password sign-ins if DASHBOARD_SIGN_IN is oidc. */
export const PROVIDER_ONLY = 'People sign in by the provider of OpenID Connect here, not with passwords.'

/** Returns a session that the caller must store, and the Set-Cookie header with its token. */
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

/** Removes U+0000, which a PostgreSQL text column cannot store. */
export const withoutNul = (text: string): string => text.replaceAll('\0', '').toWellFormed()
