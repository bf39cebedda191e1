/** Addresses of the dashboard. */

/**
 * The address that signs in with a token, or that of the dashboard. The token stands behind the #: a browser sends it to
 * nobody, so it comes into no log of a server or a proxy.
 */
export function dashboardAddress(baseUrl: string, token?: string): string {
  return token === undefined ? `${baseUrl}/app` : `${baseUrl}/app/sign-in#${token}`
}
