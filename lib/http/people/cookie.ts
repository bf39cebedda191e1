import { createHmac } from 'node:crypto'

/** BASE_URL, which is undefined for plain http without a path, and KEY_DIGEST_SECRET. */
export interface CookieHome {
  readonly baseUrl: string | undefined
  readonly digestSecret: string | undefined
}

interface CookieOptions {
  readonly use: 'session' | 'oidc' | 'device'
  /** Path below BASE_URL's path to which browsers send the cookie. */
  readonly path: string
  readonly maxAgeS: number
}

/**
 * A cookie of this deployment. Browsers send cookies to every port of a host, so the name is derived from
 * KEY_DIGEST_SECRET, which differs between deployments.
 */
export class Cookie {
  readonly name: string
  readonly #maxAgeS: number
  readonly #attributes: string

  constructor({ baseUrl, digestSecret = '' }: CookieHome, { use, path, maxAgeS }: CookieOptions) {
    const url = baseUrl === undefined ? undefined : new URL(baseUrl)
    const isSecure = url?.protocol === 'https:'
    const own = createHmac('sha256', digestSecret).update('session cookie').digest('hex').slice(0, 8)
    this.name = `${isSecure ? '__Secure-' : ''}spoor_${use}_${own}`
    this.#maxAgeS = maxAgeS
    const base = url?.pathname.replace(/\/+$/, '') ?? ''
    this.#attributes = `Path=${base}${path}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  }

  /** Returns the value from a Cookie header. The first of several counts, because its path is the most specific. */
  read(header: string | undefined): string | undefined {
    for (const pair of (header ?? '').split(';')) {
      const end = pair.indexOf('=')
      if (end !== -1 && pair.slice(0, end).trim() === this.name) return pair.slice(end + 1).trim()
    }
    return undefined
  }

  /** Returns the Set-Cookie header that stores a value. */
  keep(value: string): string {
    return `${this.name}=${value}; Max-Age=${this.#maxAgeS}; ${this.#attributes}`
  }

  /** Returns the Set-Cookie header that deletes the cookie. */
  forget(): string {
    return `${this.name}=; Max-Age=0; ${this.#attributes}`
  }
}

/**
 * Returns the session token's cookie, which lasts as long as an unused session. Its path is the dashboard's, so
 * browsers never send it to the API, which does not accept sessions.
 */
export const sessionCookie = (home: CookieHome): Cookie =>
  new Cookie(home, { use: 'session', path: '/app', maxAgeS: 30 * 24 * 3600 })
