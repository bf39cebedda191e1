/** Stores public links to traces. A link is valid until it expires or is revoked. */
import type { Sql } from 'postgres'
import { type AuditEntry, auditStep } from '../audit.ts'

/** Maximum number of valid links per trace. */
export const MOST_PUBLIC_LINKS = 20

export interface PublicLink {
  readonly id: number
  readonly createdAt: string
  readonly expiresAt: string
  /** E-mail address of the owner who created the link; null if the user was removed. */
  readonly madeBy: string | null
}

/** Identifies a trace of a project. Its number shows whether the id belongs to the same trace as before. */
export interface LinkedTrace {
  readonly projectId: number
  readonly traceId: string
  readonly seq: number
}

const isValid = (sql: Sql) => sql`l.revoked_at is null and l.expires_at > now()`

/** Returns a trace's valid links, newest first. */
export async function listPublicLinks(sql: Sql, { projectId, seq }: LinkedTrace): Promise<PublicLink[]> {
  return sql<PublicLink[]>`
    select l.id, l.created_at as "createdAt", l.expires_at as "expiresAt", u.email as "madeBy"
    from public_links l left join users u on u.id = l.user_id
    where l.project_id = ${projectId} and l.trace_seq = ${seq} and ${isValid(sql)} order by l.id desc`
}

export interface NewLink extends LinkedTrace {
  readonly digest: string
  readonly userId: number
  readonly days: number
}

/**
 * Stores a link. After a lost response, a repeated attempt finds its own link by the digest. Returns undefined if the
 * trace has the maximum number of links.
 */
export async function insertPublicLink(
  sql: Sql,
  { projectId, traceId, seq, digest, userId, days }: NewLink,
  audit: AuditEntry
): Promise<Pick<PublicLink, 'id' | 'createdAt' | 'expiresAt'> | undefined> {
  const [row] = await sql<Pick<PublicLink, 'id' | 'createdAt' | 'expiresAt'>[]>`
    with made as (
      insert into public_links (project_id, trace_id, trace_seq, digest, user_id, expires_at)
      select ${projectId}::int, ${traceId}::text, ${seq}::bigint, ${digest}::text, ${userId}::int,
        now() + ${days} * interval '1 day'
      where (
        select count(*) from public_links l
        where l.project_id = ${projectId} and l.trace_seq = ${seq} and ${isValid(sql)}
      ) < ${MOST_PUBLIC_LINKS}
      on conflict on constraint public_links_digest do update set digest = excluded.digest
      returning *
    )
    ${auditStep(sql, audit, sql`made`)}
    select id, created_at as "createdAt", expires_at as "expiresAt" from made`
  return row
}

/** Revokes a valid link. Returns whether the project had such a link. */
export async function revokePublicLink(sql: Sql, projectId: number, id: number, audit: AuditEntry): Promise<boolean> {
  const revoked = await sql`
    with gone as (
      update public_links l set revoked_at = now()
      where l.project_id = ${projectId} and l.id = ${id} and ${isValid(sql)} returning *
    )
    ${auditStep(sql, audit)}
    select from gone`
  return revoked.count > 0
}

/** Returns the trace of a valid link. */
export async function findLinkedTrace(sql: Sql, digest: string): Promise<LinkedTrace | undefined> {
  const [row] = await sql<LinkedTrace[]>`
    select l.project_id as "projectId", l.trace_id as "traceId", l.trace_seq::float8 as seq from public_links l
    where l.digest = ${digest} and ${isValid(sql)}`
  return row
}
