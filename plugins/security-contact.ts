/** Serves /.well-known/security.txt (RFC 9116) if SECURITY_CONTACT says whom to tell about a vulnerability. */
import type { App } from '../lib/app.ts'
import { Content } from '../lib/http/route.ts'

const TEXT = 'text/plain; charset=utf-8'
/** RFC 9116 recommends less than a year. A server that still runs renews the date with every response. */
const EXPIRES_DAYS = 90
const DAY_MS = 24 * 3_600_000

export default function securityContact({ config, route }: App): void {
  const { baseUrl, securityContacts } = config
  if (securityContacts.length === 0) return
  const path = '/.well-known/security.txt'
  route({
    method: 'GET',
    path,
    access: 'public',
    summary: 'Get the contact for reporting vulnerabilities',
    replies: {},
    handler() {
      // Whole days, so that the response does not reveal the server's clock.
      const expires = new Date((Math.floor(Date.now() / DAY_MS) + EXPIRES_DAYS) * DAY_MS).toISOString()
      const lines = [
        ...securityContacts.map(contact => `Contact: ${contact}`),
        `Expires: ${expires}`,
        ...(baseUrl === undefined ? [] : [`Canonical: ${baseUrl}${path}`])
      ]
      return { body: new Content(TEXT, `${lines.join('\n')}\n`) }
    }
  })
}
