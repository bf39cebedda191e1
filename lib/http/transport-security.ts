/**
 * Tells browsers to use only HTTPS for this host. Sent with the dashboard and the guide if BASE_URL begins with
 * `https://`. The API's clients are not browsers, so its responses do not need the header. Subdomains are left alone,
 * because other services may run there.
 */
import type { Config } from '../config.ts'

/** Half a year. */
const MAX_AGE_S = 15_768_000

export function transportSecurity({
  baseUrl,
  hsts
}: Pick<Config, 'baseUrl' | 'hsts'>): Readonly<Record<string, string>> {
  const isSecure = baseUrl !== undefined && new URL(baseUrl).protocol === 'https:'
  return isSecure && hsts ? { 'Strict-Transport-Security': `max-age=${MAX_AGE_S}` } : {}
}
