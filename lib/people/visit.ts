/** Who uses the dashboard, and what a route of it asks of them. */
import type { Role } from '../schema/roles.ts'

/** Somebody who is signed in. */
export interface Visitor {
  readonly userId: number
  readonly email: string
  readonly name: string
  readonly hasPassword: boolean
  /** The digest of the session; null if a trusted proxy vouches for them. */
  readonly session: string | null
  /** When they last proved who they are; null if nobody knows, or a trusted proxy vouches for them. */
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

/** By what somebody shows who they are. */
export interface Credentials {
  /** The token of a session. */
  readonly token: string | undefined
  /** The address of the person that a trusted proxy vouches for. It counts for more than a session. */
  readonly vouched: string | undefined
}

/**
 * `guest` asks for nobody, but knows who is signed in; `visitor` for somebody who is. In a project, `visitor` asks for a
 * member of its account, whatever the role, and the other two for a role.
 */
export const PERSON_ACCESS = ['guest', 'visitor', 'member', 'owner'] as const
export type PersonAccess = (typeof PERSON_ACCESS)[number]
