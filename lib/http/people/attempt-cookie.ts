/**
 * The cookie of a sign-in that is under way at a provider of OpenID Connect: the values that the provider must return,
 * and the page that was asked for. It belongs to one browser, lives for ten minutes, and is used once. Only the routes
 * of that sign-in get it.
 */
import type { Attempt } from '../../people/oidc/provider.ts'

export interface Begun {
  readonly attempt: Attempt
  /** A page of the dashboard, relative to `/app/`. */
  readonly page: string
  /** Whether the provider was asked for a fresh sign-in. */
  readonly fresh: boolean
}

const MAX_AGE_S = 600
const TOKEN = /^[\w-]{20,100}$/

export class AttemptCookie {
  readonly #name: string
  readonly #attributes: string

  /** `session` is the name of the session's cookie, which is unique to this deployment. */
  constructor(baseUrl: string, session: string) {
    const { protocol, pathname } = new URL(baseUrl)
    this.#name = session.replace('session', 'oidc')
    const path = `${pathname.replace(/\/+$/, '')}/app/api/sign-in/oidc`
    this.#attributes = `Path=${path}; HttpOnly; SameSite=Lax${protocol === 'https:' ? '; Secure' : ''}`
  }

  keep({ attempt: { state, nonce, verifier }, page, fresh }: Begun): string {
    const value = [state, nonce, verifier, Buffer.from(page).toString('base64url'), fresh ? 'fresh' : ''].join('.')
    return `${this.#name}=${value}; Max-Age=${MAX_AGE_S}; ${this.#attributes}`
  }

  forget(): string {
    return `${this.#name}=; Max-Age=0; ${this.#attributes}`
  }

  /** Undefined if the header has none, or none that was written here. */
  read(header: string | undefined): Begun | undefined {
    const found = (header ?? '').split(';').find(pair => pair.trim().startsWith(`${this.#name}=`))
    const [state, nonce, verifier, page, fresh, ...more] =
      found
        ?.trim()
        .slice(this.#name.length + 1)
        .split('.') ?? []
    if (page === undefined || more.length > 0) return undefined
    const tokens = [state, nonce, verifier] as [string, string, string]
    if (!tokens.every(each => TOKEN.test(each))) return undefined
    const attempt = { state: tokens[0], nonce: tokens[1], verifier: tokens[2] }
    return { attempt, page: Buffer.from(page, 'base64url').toString(), fresh: fresh === 'fresh' }
  }
}
