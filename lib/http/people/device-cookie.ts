/**
 * Marks a browser in which a person has signed in with a password. The cookie grants no access; it only counts the
 * person's attempts in this browser separately from strangers' attempts (lib/people/attempts.ts). The server stores
 * nothing about it. An HMAC binds it to the user, so nobody can forge it without having signed in.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { Cookie, type CookieHome } from './cookie.ts'

/** Browsers do not keep cookies for much longer. */
const MAX_AGE_S = 365 * 24 * 3600
const VALUE = /^([\w-]{22})\.([\w-]{43})$/

export class DeviceCookie {
  readonly #cookie: Cookie
  readonly #secret: string

  constructor(home: CookieHome) {
    this.#cookie = new Cookie(home, { use: 'device', path: '/app/api', maxAgeS: MAX_AGE_S })
    this.#secret = home.digestSecret ?? ''
  }

  /**
   * Returns the Set-Cookie header for a browser in which this user has just signed in. An existing device name is kept.
   */
  keep(header: string | undefined, userId: number): string {
    const device = this.read(header, userId) ?? randomBytes(16).toString('base64url')
    return this.#cookie.keep(`${device}.${this.#sign(userId, device).toString('base64url')}`)
  }

  /** Returns the device name if this user has signed in on this device. */
  read(header: string | undefined, userId: number): string | undefined {
    const [, device, signature = ''] = VALUE.exec(this.#cookie.read(header) ?? '') ?? []
    if (device === undefined) return undefined
    return timingSafeEqual(Buffer.from(signature, 'base64url'), this.#sign(userId, device)) ? device : undefined
  }

  #sign(userId: number, device: string): Buffer {
    return createHmac('sha256', this.#secret).update(`device ${userId} ${device}`).digest()
  }
}
