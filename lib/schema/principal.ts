/** Defines the identity under which a request acts, and the access that a route requires. */
import type { Scope } from './scopes.ts'

/** The holder of an API key, on whose behalf a request acts. */
export interface Principal {
  readonly keyId: string
  /** Name of the key; may be empty. */
  readonly label: string
  readonly projectId: number
  readonly scopes: readonly Scope[]
  /** Environment label stored with traces that the key records; null means unassigned. */
  readonly environment: string | null
  /** Id of the project's account if it is a trial account; otherwise null. */
  readonly trialAccountId: number | null
  /** Time of the key's expiry in ISO 8601, as in responses; null if the key never expires. */
  readonly expiresAt: string | null
  /** Time of the key's last use; a promise while the current use is being stored. The promise never rejects. */
  readonly lastUsedAt: string | Promise<string>
}

/** `public` requires no key, `key` requires any valid key, and a scope requires a key with that scope. */
export type Access = 'public' | 'key' | Scope
