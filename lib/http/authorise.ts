/** Finds out whom a request acts for, and whether its key may do what the route does: the same over HTTP and gRPC. */
import type { KeyRing } from '../access/auth.ts'
import { Refusal } from '../errors.ts'
import type { Access, Principal } from '../schema/principal.ts'
import type { Route } from './route.ts'

export interface AuthoriseOptions {
  readonly keys: Pick<KeyRing, 'authenticate'>
  /** Names the missing configuration; undefined if it is complete. */
  notConfigured(): string | undefined
}

/** Throws `not_configured`, `invalid_api_key`, `insufficient_scope`, and what KeyRing throws. */
export async function authorise(
  { keys, notConfigured }: AuthoriseOptions,
  route: Pick<Route, 'access' | 'readAuthorization'>,
  authorization: string | undefined
): Promise<Principal> {
  requireConfigured(notConfigured)
  // Routes that ask for a person are not asked here (lib/http/people/admit.ts).
  const access = route.access as Access
  const key = await keys.authenticate(route.readAuthorization?.(authorization) ?? authorization, access)
  if (access !== 'public' && access !== 'key' && !key.scopes.includes(access)) {
    throw new Refusal('insufficient_scope', `This key lacks the scope ${access}.`)
  }
  return key
}

/** Throws `not_configured` unless the deployment is whole. */
export function requireConfigured(notConfigured: () => string | undefined): void {
  if (notConfigured() === undefined) return
  throw new Refusal('not_configured', 'This deployment is not configured; its log says what is missing.')
}
