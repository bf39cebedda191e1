/**
 * Returns the page to open after a sign-in, always a dashboard page, so that a link cannot redirect to another site.
 */
export function destination(search: string): string {
  const wanted = new URLSearchParams(search).get('to') ?? ''
  return /^(?:p|t)\/[^\\]*$|^account$/.test(wanted) ? wanted : ''
}

/** Messages for failed OpenID Connect sign-ins, by the reason that the server puts in the URL. */
const REASONS: Readonly<Record<string, string>> = {
  away: 'The sign-in provider is not responding correctly. Try again later.',
  denied: 'The sign-in provider denied access.',
  invalid: 'Sign-in failed. Try again; if it fails again, the server log has the reason.',
  stale: 'The sign-in took too long, or started in another browser. Try again.',
  'no-email': 'The provider did not supply your e-mail address.',
  unverified: 'The provider has not verified your e-mail address.',
  unproven:
    'The provider does not say whether it has verified your e-mail address. Ask the administrator of this server to set OIDC_TRUST_EMAIL=on if the provider can be trusted with it.',
  taken:
    'Your e-mail address belongs to a user who signs in with another account at the provider. If that is you, ask the administrator of this server to run `spoor user unlink` with your address, then sign in again.',
  'not-fresh':
    'The provider did not confirm that you have just signed in. Try again, or use a password or a sign-in link.',
  domain: 'E-mail addresses in your domain are not allowed here.',
  unknown: 'You have an account with the provider, but not here. Ask an owner to invite your e-mail address.'
}

/** Returns the message for a failed sign-in; undefined if nothing went wrong. */
export function reasonOf(search: string): string | undefined {
  const reason = new URLSearchParams(search).get('oidc')
  if (reason === null) return undefined
  return Object.hasOwn(REASONS, reason) ? REASONS[reason] : REASONS.invalid
}

/** Returns whether to redirect to the provider automatically: always, except after a failure or a sign-out. */
export function wantsProvider(search: string): boolean {
  const parameters = new URLSearchParams(search)
  return !parameters.has('oidc') && !parameters.has('out')
}

/** Returns the address that starts a sign-in at the provider, relative to the page's base. */
export function providerAddress(to: string, fresh = false): string {
  const query = new URLSearchParams({ ...(to !== '' && { to }), ...(fresh && { fresh: 'true' }) })
  return `api/sign-in/oidc${to === '' && !fresh ? '' : `?${query}`}`
}
