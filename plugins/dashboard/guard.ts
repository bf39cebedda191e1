/**
 * Blocks requests from other sites' pages before any session is read. Another site may rebind its name to this server's
 * address or send requests from the visitor's browser.
 */
import { isIP } from 'node:net'
import type { Config } from '../../lib/config.ts'
import { Refusal } from '../../lib/errors.ts'
import type { RequestOf, RouteOptions } from '../../lib/http/route.ts'

/** Headers of every response under /app. The Trusted Types policy `spoor` creates the URL of the page's worker. */
export const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data: blob:; " +
    "connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types spoor",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()'
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/** Path to which OpenID Connect providers redirect people after a sign-in attempt. */
export const OIDC_CALLBACK = '/app/api/sign-in/oidc/callback'

type Guarded = Pick<RequestOf<unknown>, 'headers'>

/** Creates the guard of a route. `baseUrl` is BASE_URL. */
export function siteGuard(
  { baseUrl }: Pick<Config, 'baseUrl'>,
  { method, path }: Pick<RouteOptions, 'method' | 'path'>
) {
  const isData = path.startsWith('/app/api/') && path !== OIDC_CALLBACK
  const hosts = baseUrl === undefined ? undefined : hostsOf(new URL(baseUrl))
  const origin = baseUrl === undefined ? undefined : new URL(baseUrl).origin
  return ({ headers }: Guarded) => {
    const host = (headers.host as string | undefined)?.toLowerCase() ?? ''
    if (!(hosts === undefined ? isSafeHost(host) : hosts.includes(host))) throw wrongHost(hosts?.[0])
    const isOwn = method === 'GET' ? !isData || isReadable(headers) : isOwnPage(headers, origin ?? `http://${host}`)
    if (!isOwn) throw new Refusal('forbidden', 'Only dashboard pages can send this request.')
    if (method !== 'GET' && method !== 'DELETE' && !isJson(headers['content-type'])) {
      throw new Refusal('invalid_request', 'Content-Type: must be application/json')
    }
    return {}
  }
}

/** Returns the forms in which a browser may send an address's host. */
function hostsOf({ host, hostname, protocol }: URL): string[] {
  return host === hostname ? [host, `${host}:${DEFAULT_PORTS[protocol]}`] : [host]
}

/**
 * Whether a host is allowed without BASE_URL: `localhost` or an IP address. Neither is looked up in DNS, so neither can
 * be rebound.
 */
function isSafeHost(host: string): boolean {
  const [, bracketed, plain] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d{1,5})?$/.exec(host) ?? []
  return bracketed !== undefined ? isIP(bracketed) === 6 : plain === 'localhost' || isIP(plain ?? '') === 4
}

function wrongHost(own: string | undefined): Refusal {
  const rule =
    own === undefined
      ? 'open the dashboard at an IP address or at localhost, or set BASE_URL to the address that browsers use'
      : `must be ${own}, as in BASE_URL; a reverse proxy must pass it on`
  return new Refusal('forbidden', `Host: ${rule}`)
}

/**
 * Whether a page of the origin `own` sent the request. Old browsers do not send Sec-Fetch-Site, and no browser sends
 * this header over plain HTTP.
 */
function isOwnPage({ 'sec-fetch-site': site, origin }: Guarded['headers'], own: string): boolean {
  return site === undefined ? typeof origin === 'string' && origin.toLowerCase() === own : site === 'same-origin'
}

/**
 * Whether the sender may read data: a page of spoor's origin, a person who typed the address, or a client other than a
 * browser. Another site's page could not see the response, but could infer data from the response's timing or size.
 */
const isReadable = ({ 'sec-fetch-site': site }: Guarded['headers']): boolean =>
  site === undefined || site === 'same-origin' || site === 'none'

const isJson = (type: string | string[] | undefined): boolean => /^application\/json *(?:;|$)/i.test(String(type ?? ''))
