/** The cookies of the dashboard: their names, their attributes, and how they are read. */
import { createHmac } from 'node:crypto'

/** The deployment that sets a cookie: BASE_URL, undefined for plain http without a path, and KEY_DIGEST_SECRET. */
export interface CookieHome {
  readonly baseUrl: string | undefined
  readonly digestSecret: string | undefined
}

interface CookieOptions {
  readonly use: 'session' | 'oidc' | 'device'
  /** The path under that of BASE_URL that browsers send it to. */
  readonly path: string
  readonly maxAgeS: number
}

/**
 * A cookie of this deployment. Browsers send cookies to every port of a host, so the name follows from KEY_DIGEST_SECRET,
 * of which each deployment has another.
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

  /** The value in a Cookie header. If there are several, the first counts, which has the most specific path. */
  read(header: string | undefined): string | undefined {
    for (const pair of (header ?? '').split(';')) {
      const end = pair.indexOf('=')
      if (end !== -1 && pair.slice(0, end).trim() === this.name) return pair.slice(end + 1).trim()
    }
    return undefined
  }

  /** The Set-Cookie header that keeps a value. */
  keep(value: string): string {
    return `${this.name}=${value}; Max-Age=${this.#maxAgeS}; ${this.#attributes}`
  }

  /** The Set-Cookie header that forgets it. */
  forget(): string {
    return `${this.name}=; Max-Age=0; ${this.#attributes}`
  }
}

/**
 * The cookie that holds the token of a session, as long as an unused session lives. Its path is the dashboard's, so
 * browsers never send it to the API, which takes no sessions.
 */
export const sessionCookie = (home: CookieHome): Cookie =>
  new Cookie(home, { use: 'session', path: '/app', maxAgeS: 30 * 24 * 3600 })
