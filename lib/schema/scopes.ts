export const SCOPES = ['traces:write', 'traces:read', 'traces:delete'] as const
/** An action that a key permits. */
export type Scope = (typeof SCOPES)[number]

/** A new key's default scopes. */
export const DEFAULT_SCOPES: readonly Scope[] = ['traces:write', 'traces:read']

/** Returns a key's effective scopes. A key created before scopes existed has no stored scopes and may only write. */
export function effectiveScopes(stored: readonly Scope[] | null): readonly Scope[] {
  return stored ?? ['traces:write']
}
