/**
 * Routes for OpenID Connect sign-in: the redirect to the provider and the callback with a code. A rejected person is
 * redirected to the sign-in page, which explains the reason. The log has more detail, but no personal data.
 */

import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { AttemptCookie } from '../../../lib/http/people/cookie.ts'
import { found } from '../../../lib/http/refuse.ts'
import type { Reply, RequestOf } from '../../../lib/http/route.ts'
import { noteUnlimited } from '../../../lib/people/attempts.ts'
import { isJustProven } from '../../../lib/people/fresh.ts'
import { type Denial, personOf } from '../../../lib/people/oidc/claims.ts'
import { OidcError, Provider, type ProviderFailure } from '../../../lib/people/oidc/provider.ts'
import { ownPage } from '../../../lib/people/pages.ts'
import { closed } from '../../../lib/schema/object.ts'
import { type Refused, signInByOidc } from '../../../lib/store/people/oidc.ts'
import { OIDC_CALLBACK } from '../guard.ts'
import { pageRoute } from '../page-routes.ts'
import { NothingReply } from '../replies.ts'
import { newSession } from './sign-in.ts'

/**
 * `to` is the page to open afterwards, relative to `/app/`. `fresh` makes the provider verify the identity again
 * (lib/people/fresh.ts).
 */
const StartQuery = closed({ to: Type.Optional(Type.String()), fresh: Type.Optional(Type.Literal('true')) })

/**
 * Reason for a rejection, as it appears in the page's URL. `stale`: the sign-in was not started in this browser, or was
 * started too long ago. `not-fresh`: the provider does not confirm that the person has just signed in.
 */
type Reason = ProviderFailure | Denial | Refused | 'stale' | 'not-fresh'

export default function oidc(app: App): void {
  const { config, sql, cookie, log } = app
  const parts = config.oidc && {
    admission: config.oidc,
    provider: new Provider(config.oidc, `${config.baseUrl}${OIDC_CALLBACK}`, log),
    attempts: new AttemptCookie(app.secrets)
  }
  /** Returns the parts of the OpenID Connect sign-in. Throws `not_found` if no provider is configured. */
  const required = () => found(parts, 'sign-in method: no OpenID Connect provider is configured')

  const goTo = (address: string, ...cookies: string[]): Reply => ({
    status: 302,
    headers: { Location: address, 'Set-Cookie': cookies }
  })
  const turnAway = (reason: Reason, page = ''): Reply => {
    const query = new URLSearchParams({ oidc: reason, ...(page !== '' && { to: page }) })
    return goTo(`${config.baseUrl}/app/sign-in?${query}`, required().attempts.forget())
  }

  /** Records that spoor rejected a person whom the provider identified. */
  async function refuse({ client }: Pick<RequestOf<unknown>, 'client'>, reason: Denial | Refused, page: string) {
    await noteUnlimited(sql, { userId: null, client, means: 'oidc', reason })
    return turnAway(reason, page)
  }

  pageRoute(app, {
    method: 'GET',
    path: '/app/api/sign-in/oidc',
    access: 'guest',
    query: StartQuery,
    replies: { 302: NothingReply },
    async handler({ query }) {
      const { provider, attempts } = required()
      const page = ownPage(query.to)
      const fresh = query.fresh !== undefined
      try {
        const { address, attempt } = await provider.startAttempt(fresh)
        return goTo(address, attempts.keep({ attempt, page, fresh }))
      } catch (error) {
        if (error instanceof OidcError) return turnAway(error.failure, page)
        throw error
      }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: OIDC_CALLBACK,
    access: 'guest',
    replies: { 302: NothingReply },
    async handler(request) {
      const { provider, attempts, admission } = required()
      const begun = attempts.read(request.headers.cookie as string | undefined)
      if (begun === undefined) return turnAway('stale')
      const page = ownPage(begun.page)
      try {
        const said = await provider.finish(request.querystring, begun.attempt)
        if (begun.fresh && !isJustProven(said.authTime, Date.now())) return turnAway('not-fresh', page)
        const person = personOf(said.claims, admission)
        if (typeof person === 'string') return await refuse(request, person, page)
        const { session: plain, kept } = newSession(cookie, request)
        const { sessionMs } = admission
        const session = { ...plain, endsInS: sessionMs === undefined ? undefined : sessionMs / 1000 }
        const userId = await sql.write((each, tried) => signInByOidc(each, said, person, session, tried))
        // The sign-in may have changed or removed the user's role.
        app.forget()
        if (typeof userId === 'string') return await refuse(request, userId, page)
        return goTo(`${config.baseUrl}/app/${page}`, kept, attempts.forget())
      } catch (error) {
        if (error instanceof OidcError) return turnAway(error.failure, page)
        throw error
      }
    }
  })
}
