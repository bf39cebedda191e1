/**
 * The cookie that holds the token of a session. Its path is the dashboard's, so browsers never send it to the API,
 * which takes no sessions. Browsers send cookies to every port of a host, so the name of the cookie is unique to this
 * deployment.
 */
import { createHmac } from 'node:crypto'

/** As long as a session lives that is not used. */
const MAX_AGE_S = 30 * 24 * 3600

/** The value of the first cookie of this name in a Cookie header. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const end = pair.indexOf('=')
    if (end !== -1 && pair.slice(0, end).trim() === name) return pair.slice(end + 1).trim()
  }
  return undefined
}

export class SessionCookie {
  readonly name: string
  readonly #attributes: string

  /**
   * `baseUrl` is BASE_URL; undefined if it is not set, which means plain http. `digestSecret` is KEY_DIGEST_SECRET,
   * which differs between deployments; without it nobody can sign in.
   */
  constructor(baseUrl: string | undefined, digestSecret = '') {
    const url = baseUrl === undefined ? undefined : new URL(baseUrl)
    const isSecure = url?.protocol === 'https:'
    const own = createHmac('sha256', digestSecret).update('session cookie').digest('hex').slice(0, 8)
    this.name = `${isSecure ? '__Secure-' : ''}spoor_session_${own}`
    const path = `${url?.pathname.replace(/\/+$/, '') ?? ''}/app`
    this.#attributes = `Path=${path}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  }

  /** The token in a Cookie header. If there are several, the first counts, which has the most specific path. */
  read(header: string | undefined): string | undefined {
    return readCookie(header, this.name)
  }

  /** The Set-Cookie header that keeps a token. */
  keep(token: string): string {
    return `${this.name}=${token}; Max-Age=${MAX_AGE_S}; ${this.#attributes}`
  }

  /** The Set-Cookie header that forgets it. */
  forget(): string {
    return `${this.name}=; Max-Age=0; ${this.#attributes}`
  }
}
