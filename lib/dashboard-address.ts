/** Builds dashboard URLs. */

/**
 * Returns the URL that signs a person in with a token. Without a token, returns the dashboard's URL. Browsers never
 * send the part after #, so the token reaches no server or proxy log.
 */
export function dashboardAddress(baseUrl: string, token?: string): string {
  return token === undefined ? `${baseUrl}/app` : `${baseUrl}/app/sign-in#${token}`
}
