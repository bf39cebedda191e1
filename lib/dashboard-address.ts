/** Addresses of the dashboard. */

/**
 * The address that signs in with a token, or the address of the dashboard. The token follows the #, which browsers
 * never send, so it gets into no log of a server or a proxy.
 */
export function dashboardAddress(baseUrl: string, token?: string): string {
  return token === undefined ? `${baseUrl}/app` : `${baseUrl}/app/sign-in#${token}`
}
