/** Whom a request acts for, and what a route asks of its key. */
import type { Scope } from './keys.ts'

/** Whom a request acts for: what its API key says. */
export interface Principal {
  readonly keyId: string
  readonly projectId: number
  readonly scopes: readonly Scope[]
  /** The environment label stamped on what the key records; null: unassigned. */
  readonly environment: string | null
  /** Set where the project's account is a trial account. */
  readonly trialAccountId: number | null
  /** ISO 8601, as in answers; null: never. */
  readonly expiresAt: string | null
  readonly lastUsedAt: string
}

/** `public`: no key; `key`: any valid key; otherwise the scope that the key must have. */
export type Access = 'public' | 'key' | Scope
