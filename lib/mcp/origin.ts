/**
 * Controls which web pages may call the endpoint from a browser. A page can rebind its host name to this machine's
 * address, but the browser's Origin header still names the page's own origin. Clients other than browsers do not send
 * this header.
 */

import type { Config } from '../config.ts'
import { Refusal } from '../errors.ts'
import type { RequestOf } from '../http/route.ts'

/** Host names with which a browser on this machine reaches the server. */
const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]']
const EXPOSED_HEADERS = 'X-Request-Id, WWW-Authenticate, Retry-After'

const PREFLIGHT_HEADERS = {
  Allow: 'OPTIONS, POST',
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name',
  'Access-Control-Max-Age': '600'
}

type Guarded = Pick<RequestOf<unknown>, 'headers' | 'localPort'>

/**
 * Returns the guard, which runs before the key check, returns headers for allowed origins, and rejects other origins.
 */
export function originGuard({ baseUrl, allowedOrigins }: Pick<Config, 'baseUrl' | 'allowedOrigins'>) {
  const publicOrigin = baseUrl === undefined ? undefined : new URL(baseUrl).origin
  const isOwn = (origin: string, port: number) =>
    publicOrigin === undefined ? LOOPBACK_HOSTS.some(host => origin === originOf(host, port)) : origin === publicOrigin

  return (request: Guarded) => {
    const { origin } = request.headers
    if (origin === undefined) return {}
    if (typeof origin !== 'string' || !(allowedOrigins.includes(origin) || isOwn(origin, request.localPort))) {
      throw new Refusal('forbidden', 'Pages of this origin may not call this address.')
    }
    return { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED_HEADERS, Vary: 'Origin' }
  }
}

/** Answers a browser's preflight request. The guard has already checked the origin. */
export function answerPreflight() {
  return { status: 204, headers: PREFLIGHT_HEADERS }
}

function originOf(host: string, port: number): string {
  return new URL(`http://${host}:${port}`).origin
}
