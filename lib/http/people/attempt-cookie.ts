/**
 * The cookie of an OpenID Connect sign-in in progress, with the values that the provider must return and the requested
 * page. It belongs to one browser, lasts ten minutes, is used once, and is sent only to the sign-in routes.
 */
import type { SignInAttempt } from '../../people/oidc/provider.ts'
import { Cookie, type CookieHome } from './cookie.ts'

export interface Begun {
  readonly attempt: SignInAttempt
  /** A page of the dashboard, relative to `/app/`. */
  readonly page: string
  /** Whether the provider was asked for a fresh sign-in. */
  readonly fresh: boolean
}

const TOKEN = /^[\w-]{20,100}$/

export class AttemptCookie {
  readonly #cookie: Cookie

  constructor(home: CookieHome) {
    this.#cookie = new Cookie(home, { use: 'oidc', path: '/app/api/sign-in/oidc', maxAgeS: 600 })
  }

  keep({ attempt: { state, nonce, verifier }, page, fresh }: Begun): string {
    const value = [state, nonce, verifier, Buffer.from(page).toString('base64url'), fresh ? 'fresh' : '']
    return this.#cookie.keep(value.join('.'))
  }

  forget(): string {
    return this.#cookie.forget()
  }

  /** Returns undefined if the header has no valid cookie. */
  read(header: string | undefined): Begun | undefined {
    const [state, nonce, verifier, page, fresh, ...more] = this.#cookie.read(header)?.split('.') ?? []
    if (page === undefined || more.length > 0) return undefined
    const tokens = [state, nonce, verifier] as [string, string, string]
    if (!tokens.every(each => TOKEN.test(each))) return undefined
    const attempt = { state: tokens[0], nonce: tokens[1], verifier: tokens[2] }
    return { attempt, page: Buffer.from(page, 'base64url').toString(), fresh: fresh === 'fresh' }
  }
}
