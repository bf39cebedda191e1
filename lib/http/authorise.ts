/** Authenticates an HTTP or gRPC request's key and checks that the key has the route's scope. */
import type { KeyRing } from '../access/auth.ts'
import { Refusal } from '../errors.ts'
import type { Access, Principal } from '../schema/principal.ts'
import type { Route } from './route.ts'

export interface AuthoriseOptions {
  readonly keys: Pick<KeyRing, 'authenticate'>
  /** Returns the missing configuration, or undefined if the configuration is complete. */
  notConfigured(): string | undefined
}

/**
 * Returns the key's principal. Throws `not_configured`, `invalid_api_key`, `insufficient_scope`, and KeyRing's errors.
 */
export async function authorise(
  { keys, notConfigured }: AuthoriseOptions,
  route: Pick<Route, 'access' | 'readAuthorization'>,
  authorization: string | undefined
): Promise<Principal> {
  requireConfigured(notConfigured)
  // Routes that require a person use lib/http/people/admit.ts instead.
  const access = route.access as Access
  const key = await keys.authenticate(route.readAuthorization?.(authorization) ?? authorization, access)
  if (access !== 'public' && access !== 'key' && !key.scopes.includes(access)) {
    throw new Refusal('insufficient_scope', `This key lacks the scope ${access}.`)
  }
  return key
}

/** Throws `not_configured` if configuration is missing. */
export function requireConfigured(notConfigured: () => string | undefined): void {
  if (notConfigured() === undefined) return
  throw new Refusal('not_configured', 'This deployment is not configured; see its log for what is missing.')
}
