/** The key that a request comes with, and the key that a route asks for. */
import type { Scope } from './scopes.ts'

/** The holder of an API key, for whom a request acts. */
export interface Principal {
  readonly keyId: string
  /** The name of the key; may be empty. */
  readonly label: string
  readonly projectId: number
  readonly scopes: readonly Scope[]
  /** The environment label that is stored with what the key records; null for unassigned. */
  readonly environment: string | null
  /** The project's account if that is a trial account, otherwise null. */
  readonly trialAccountId: number | null
  /** ISO 8601, as in answers; null if the key never expires. */
  readonly expiresAt: string | null
  /** A promise while the use of the key that is answered is being stored. It never rejects. */
  readonly lastUsedAt: string | Promise<string>
}

/** `public` asks for no key, `key` for any valid key, and a scope for a key that has it. */
export type Access = 'public' | 'key' | Scope
