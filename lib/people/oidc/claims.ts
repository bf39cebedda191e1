/** What a provider says of somebody, and what follows from it: who they are here, and with which role. */
import type { OidcConfig, RoleRule } from '../../config.ts'
import { readEmail } from '../email.ts'
import { isEnough, type Role } from '../roles.ts'

export type Claims = Readonly<Record<string, unknown>>

/** Who may come in, and as what. */
export type Admission = Pick<OidcConfig, 'domains' | 'roles'>

export interface Person {
  readonly email: string
  readonly name: string
  /** The highest role that a rule gives; undefined if none does. */
  readonly role: Role | undefined
}

/** Why somebody whom the provider knows is not let in. */
export type Denial = 'no-email' | 'unverified' | 'domain'

const MOST_NAME = 200

export function personOf(claims: Claims, { domains, roles }: Admission): Person | Denial {
  const email = typeof claims.email === 'string' ? readEmail(claims.email) : undefined
  if (email === undefined) return 'no-email'
  // Many providers leave it out; some say it in words.
  if (claims.email_verified === false || claims.email_verified === 'false') return 'unverified'
  const domain = email.slice(email.lastIndexOf('@') + 1)
  if (domains.length > 0 && !domains.includes(domain)) return 'domain'
  const name = typeof claims.name === 'string' ? claims.name : ''
  return {
    email,
    name: storable(name),
    role: highest(roles.filter(rule => holds(rule, claims)).map(({ role }) => role))
  }
}

/** What a text column takes, on one line. */
function storable(text: string): string {
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

/** The claim of this name, which may have dots, as in addresses; else the one within others, as in `realm_access.roles`. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Claims)[part]
  }
  return value
}
