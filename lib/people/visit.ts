/** Defines a visit to the dashboard: the visitor, and a route's requirements for its visitors. */
import type { Role } from '../schema/roles.ts'
import type { VisitRow } from '../store/people/sessions.ts'

export interface Visitor
  extends Pick<VisitRow, 'userId' | 'email' | 'name' | 'hasPassword' | 'hasFactor' | 'provenAt'> {
  /** Digest of the session's token; null if a trusted proxy vouches for the person. */
  readonly session: string | null
}

/** The project in the URL, and the visitor's role there. */
export interface VisitedProject {
  readonly id: number
  readonly accountId: number
  readonly role: Role
  /** Whether the account requires a second factor that the visitor's session does not have. */
  readonly lacksFactor: boolean
}

export interface Visit {
  readonly visitor: Visitor
  /** The visited project; undefined if the URL names no project that the visitor may see. */
  readonly project: VisitedProject | undefined
}

/** The visitor's proof of identity. */
export interface Credentials {
  readonly token: string | undefined
  /** The e-mail address for which a trusted proxy vouches. This address takes precedence over a session. */
  readonly vouched: string | undefined
}

/**
 * `guest` requires no sign-in, but a signed-in visitor is identified; `visitor` requires a sign-in. In a project,
 * `visitor` requires any membership in its account, and `member` and `owner` require at least that role.
 */
export const PERSON_ACCESS = ['guest', 'visitor', 'member', 'owner'] as const
export type PersonAccess = (typeof PERSON_ACCESS)[number]
