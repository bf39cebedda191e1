/** Authenticates and authorises people on the dashboard's routes, as lib/http/authorise.ts does for keys. */
import { Refusal } from '../../errors.ts'
import { type Credentials, PERSON_ACCESS, type PersonAccess, type Visit } from '../../people/visit.ts'
import type { Visitors } from '../../people/visitors.ts'
import { isEnough } from '../../schema/roles.ts'
import { requireConfigured } from '../authorise.ts'
import type { RequestOf } from '../route.ts'
import type { Cookie } from './cookie.ts'
import type { Vouching } from './trusted-proxy.ts'

export interface AdmitOptions {
  readonly visitors: Pick<Visitors, 'find'>
  readonly cookie: Cookie
  readonly vouching: Vouching
  /** Returns the missing configuration, or undefined if the configuration is complete. */
  notConfigured(): string | undefined
}

const FACTOR_REQUIRED =
  'This account requires two-step sign-in for password users: turn it on under Account, and sign in again.'

type Asking = Pick<RequestOf<unknown>, 'headers' | 'peer' | 'params'>

export const isPersonAccess = (access: string): access is PersonAccess =>
  (PERSON_ACCESS as readonly string[]).includes(access)

/**
 * Returns the person's visit. Throws `not_configured`, `sign_in_required`, `not_found` for a project of which the
 * person is not a member, `factor_required`, and `forbidden`. Resolves to undefined only for guests.
 */
export async function admit(options: AdmitOptions, access: PersonAccess, asking: Asking): Promise<Visit | undefined> {
  requireConfigured(options.notConfigured)
  const { slug } = asking.params
  const visit = await options.visitors.find(credentialsOf(options, asking), slug)
  if (access === 'guest') return visit
  if (visit === undefined)
    throw new Refusal('sign_in_required', 'Sign in first, or sign in again if the session has ended.')
  if (slug === undefined) return visit
  if (visit.project === undefined) throw new Refusal('not_found', 'There is no such project.')
  if (visit.project.lacksFactor) throw new Refusal('factor_required', FACTOR_REQUIRED)
  if (access !== 'visitor' && !isEnough(visit.project.role, access)) {
    throw new Refusal('forbidden', `This requires the role ${access} in the project's account.`)
  }
  return visit
}

function credentialsOf({ cookie, vouching }: AdmitOptions, { headers, peer }: Asking): Credentials {
  return { token: cookie.read(headers.cookie as string | undefined), vouched: vouching(peer, headers) }
}
