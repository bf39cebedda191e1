/** Reads a provider's claims about a person, and derives their identity and role. */
import type { OidcConfig, RoleRule } from '../../config.ts'
import { isEnough, type Role } from '../../schema/roles.ts'
import type { Person } from '../../store/people/oidc.ts'
import { readEmail } from '../email.ts'

export type Claims = Readonly<Record<string, unknown>>

/** The provider's statement about the person who signed in. */
export interface SaidClaims {
  /** `issuer` and `subject` together permanently identify one person. */
  readonly issuer: string
  readonly subject: string
  /** Time of the last authentication with the provider, in seconds since 1970; undefined if not reported. */
  readonly authTime: number | undefined
  readonly claims: Claims
}

/** Rules that decide who may sign in, and with which role. */
export type SignInAdmission = Pick<OidcConfig, 'domains' | 'roles' | 'trustEmail'>

/** Reasons to reject a person whom the provider has authenticated. */
export type Denial = 'no-email' | 'unverified' | 'domain'

const MOST_NAME = 200

/** Whether a subject can be stored and indexed. The standard allows 255 ASCII characters. */
export const isSubject = (subject: string): boolean => /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(subject)

/**
 * Merges the claims of the ID token and the userinfo endpoint. The address and its verified flag come from the same
 * document, because a flag vouches only for the address in its own document. A document that has a flag takes
 * precedence. Otherwise, the userinfo document takes precedence.
 */
export function joinClaims(token: Claims, userinfo: Claims = {}): Claims {
  const withEmail = [userinfo, token].filter(({ email }) => email !== undefined)
  const source = withEmail.find(each => each.email_verified !== undefined) ?? withEmail[0]
  return { ...token, ...userinfo, email: source?.email, email_verified: source?.email_verified }
}

export function personOf(claims: Claims, { domains, roles, trustEmail }: SignInAdmission): Person | Denial {
  const email = typeof claims.email === 'string' ? readEmail(claims.email) : undefined
  if (email === undefined) return 'no-email'
  // Some providers never send the flag. If the flag is present, any value other than true leads to rejection.
  const isVerified = claims.email_verified === true
  if (!isVerified && claims.email_verified !== undefined) return 'unverified'
  const domain = email.slice(email.lastIndexOf('@') + 1)
  if (domains.length > 0 && !domains.includes(domain)) return 'domain'
  const name = typeof claims.name === 'string' ? claims.name : ''
  return {
    email,
    proof: isVerified ? 'verified' : trustEmail ? 'trusted' : undefined,
    name: oneLine(name),
    role: highest(roles.filter(rule => holds(rule, claims)).map(({ role }) => role))
  }
}

/** Returns the string as one line that a text column can store, truncated to MOST_NAME characters. */
function oneLine(text: string): string {
  const line = text.toWellFormed().replace(/\p{Cc}+/gu, ' ')
  return [...line.trim()].slice(0, MOST_NAME).join('')
}

function highest(roles: readonly Role[]): Role | undefined {
  return roles.reduce<Role | undefined>(
    (best, role) => (best === undefined || isEnough(role, best) ? role : best),
    undefined
  )
}

function holds({ claim, value }: RoleRule, claims: Claims): boolean {
  if (claim === '*') return true
  const found = claimAt(claims, claim)
  const values = Array.isArray(found) ? found : [found]
  return values.some(each => each !== null && typeof each !== 'object' && each !== undefined && String(each) === value)
}

/**
 * Returns the claim with this exact name, dots included. If there is no such claim, returns the nested claim, such as
 * `roles` in `realm_access` for `realm_access.roles`.
 */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Claims)[part]
  }
  return value
}
