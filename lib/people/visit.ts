/** A visit to the dashboard: the visitor, and what a route asks of them. */
import type { Role } from '../schema/roles.ts'

/** A person who is signed in. */
export interface Visitor {
  readonly userId: number
  readonly email: string
  readonly name: string
  readonly hasPassword: boolean
  /** The digest of the session; null if a trusted proxy vouches for them. */
  readonly session: string | null
  /** The time of their last proof of identity; null if it is not known, or if a trusted proxy vouches for them. */
  readonly provenAt: string | null
}

/** The project of the address, and what the visitor is there. */
export interface VisitedProject {
  readonly id: number
  readonly accountId: number
  readonly role: Role
}

export interface Visit {
  readonly visitor: Visitor
  /** Undefined if the address names none, or one that the visitor may not see. */
  readonly project: VisitedProject | undefined
}

/** The means by which a visitor proves their identity. */
export interface Credentials {
  /** The token of a session. */
  readonly token: string | undefined
  /** The address of the person that a trusted proxy vouches for. It counts for more than a session. */
  readonly vouched: string | undefined
}

/**
 * `guest` requires no sign-in, but knows who is signed in; `visitor` requires one. In a project, `visitor` requires any
 * member of its account, and the other two require a role.
 */
export const PERSON_ACCESS = ['guest', 'visitor', 'member', 'owner'] as const
export type PersonAccess = (typeof PERSON_ACCESS)[number]
