/** The scopes of API keys. */

export const SCOPES = ['traces:write', 'traces:read', 'traces:delete'] as const
/** An action that a key allows its holder. */
export type Scope = (typeof SCOPES)[number]

/** The scopes of a new key, unless others are asked for. */
export const DEFAULT_SCOPES: readonly Scope[] = ['traces:write', 'traces:read']

/** The scopes of a key. A key from before scopes existed has none stored, and may only write. */
export function effectiveScopes(stored: readonly Scope[] | null): readonly Scope[] {
  return stored ?? ['traces:write']
}
