import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { SignInAttempt } from '../../people/oidc/provider.ts'

/**
 * The settings that a cookie depends on: BASE_URL (undefined for plain http without a path), KEY_DIGEST_SECRET
 * (undefined while it is not set), and the secret that it replaces, if any.
 */
export interface CookieHome {
  readonly baseUrl: string | undefined
  readonly digestSecret: string | undefined
  readonly previousSecret?: string | undefined
}

interface CookieOptions {
  readonly use: 'session' | 'oidc' | 'device'
  /** Path to which browsers send the cookie, relative to BASE_URL's path. */
  readonly path: string
  readonly maxAgeS: number
}

/**
 * A cookie of this deployment. Browsers send cookies to every port of a host, so the name is derived from
 * KEY_DIGEST_SECRET, which differs between deployments. While KEY_DIGEST_SECRET is being changed, cookies with the name
 * derived from the previous secret are read too, so that nobody is signed out.
 */
export class Cookie {
  readonly name: string
  readonly #previousName: string | undefined
  readonly #maxAgeS: number
  readonly #attributes: string

  constructor({ baseUrl, digestSecret = '', previousSecret }: CookieHome, { use, path, maxAgeS }: CookieOptions) {
    const url = baseUrl === undefined ? undefined : new URL(baseUrl)
    const isSecure = url?.protocol === 'https:'
    const nameBy = (secret: string) => {
      const own = createHmac('sha256', secret).update('session cookie').digest('hex').slice(0, 8)
      return `${isSecure ? '__Secure-' : ''}spoor_${use}_${own}`
    }
    this.name = nameBy(digestSecret)
    this.#previousName = previousSecret === undefined ? undefined : nameBy(previousSecret)
    this.#maxAgeS = maxAgeS
    const base = url?.pathname.replace(/\/+$/, '') ?? ''
    this.#attributes = `Path=${base}${path}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  }

  /**
   * Returns the cookie's value from a Cookie header. If there are several values, returns the first, because browsers
   * send the cookie with the most specific path first.
   */
  read(header: string | undefined): string | undefined {
    const previous = this.#previousName
    return cookieValue(header, this.name) ?? (previous === undefined ? undefined : cookieValue(header, previous))
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

function cookieValue(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const end = pair.indexOf('=')
    if (end !== -1 && pair.slice(0, end).trim() === name) return pair.slice(end + 1).trim()
  }
  return undefined
}

/**
 * Returns the session token's cookie, which expires when an unused session would expire. The cookie's path is the
 * dashboard's, so browsers never send the cookie to the API, which does not accept sessions.
 */
export const sessionCookie = (home: CookieHome): Cookie =>
  new Cookie(home, { use: 'session', path: '/app', maxAgeS: 30 * 24 * 3600 })

interface Begun {
  readonly attempt: SignInAttempt
  /** A page of the dashboard, relative to `/app/`. */
  readonly page: string
  /** Whether the provider was asked for a fresh sign-in. */
  readonly fresh: boolean
}

const TOKEN = /^[\w-]{20,100}$/

/**
 * The cookie of an OpenID Connect sign-in in progress. It holds the values that the provider must return, and the page
 * to open afterwards. The cookie belongs to one browser, lasts ten minutes, is used once, and is sent only to the
 * sign-in routes.
 */
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

  /** Returns the cookie's values; undefined if the header has no valid cookie. */
  read(header: string | undefined): Begun | undefined {
    const [state, nonce, verifier, page, fresh, ...more] = this.#cookie.read(header)?.split('.') ?? []
    if (page === undefined || more.length > 0) return undefined
    const tokens = [state, nonce, verifier] as [string, string, string]
    if (!tokens.every(each => TOKEN.test(each))) return undefined
    const attempt = { state: tokens[0], nonce: tokens[1], verifier: tokens[2] }
    return { attempt, page: Buffer.from(page, 'base64url').toString(), fresh: fresh === 'fresh' }
  }
}

/** Lifetime of a device cookie, in seconds. Browsers accept only slightly longer lifetimes. */
const MAX_AGE_S = 365 * 24 * 3600
const VALUE = /^([\w-]{22})\.([\w-]{43})$/

/**
 * Marks a browser in which a person has signed in with a password. The cookie grants no access; it only lets the server
 * count the person's attempts in this browser separately from strangers' attempts (lib/people/attempts.ts). The server
 * does not store the cookie. An HMAC binds the cookie to the user, so nobody can forge the cookie.
 */
export class DeviceCookie {
  readonly #cookie: Cookie
  /** The secret to sign with, and then the previous secret, if any. */
  readonly #secrets: readonly [string, ...string[]]

  constructor(home: CookieHome) {
    this.#cookie = new Cookie(home, { use: 'device', path: '/app/api', maxAgeS: MAX_AGE_S })
    const { digestSecret = '', previousSecret } = home
    this.#secrets = [digestSecret, ...(previousSecret === undefined ? [] : [previousSecret])]
  }

  /** Returns the Set-Cookie header for a browser in which this user has just signed in. Keeps a known device name. */
  keep(header: string | undefined, userId: number): string {
    const device = this.read(header, userId) ?? randomBytes(16).toString('base64url')
    return this.#cookie.keep(`${device}.${sign(this.#secrets[0], userId, device).toString('base64url')}`)
  }

  /** Returns the device name if this user has signed in on this device. */
  read(header: string | undefined, userId: number): string | undefined {
    const [, device, signature = ''] = VALUE.exec(this.#cookie.read(header) ?? '') ?? []
    if (device === undefined) return undefined
    const given = Buffer.from(signature, 'base64url')
    return this.#secrets.some(each => timingSafeEqual(given, sign(each, userId, device))) ? device : undefined
  }
}

const sign = (secret: string, userId: number, device: string): Buffer =>
  createHmac('sha256', secret).update(`device ${userId} ${device}`).digest()
