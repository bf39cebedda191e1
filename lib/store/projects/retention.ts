/** Stores projects' retention: the age from which `spoor retention run` deletes their traces. */
import type { Sql } from 'postgres'
import { type AuditEntry, auditStep } from '../audit.ts'
import type { TraceConditions } from '../trace/trace-conditions.ts'

export interface Retention {
  /** Age in days from which traces are deleted. */
  readonly days: number
  /** Whether traces with a score are kept regardless of their age. */
  readonly keepsScored: boolean
  /** Traces with one of these tags are kept regardless of their age. */
  readonly keepsTags: readonly string[]
}

/** SQL for the retention of a project `p`, as JSON. The value is null if the project has none. */
export const RETENTION_COLUMN = `case when p.retention_days is not null then jsonb_build_object(
    'days', p.retention_days, 'keepsScored', p.retention_keeps_scored,
    'keepsTags', p.retention_keeps_tags) end as retention`

export const parseRetention = (json: string | null): Retention | null => json && JSON.parse(json)

/** Sets the retention, or removes it if null. Writes the audit entry only if something changes. */
export async function writeRetention(
  sql: Sql,
  projectId: number,
  retention: Retention | null,
  audit: AuditEntry
): Promise<boolean> {
  const { days = null, keepsScored = false, keepsTags = [] } = retention ?? {}
  const tags = keepsTags as string[]
  const [row] = await sql<[{ changed: boolean }]>`
    with changed as (
      update projects
      set retention_days = ${days}::int, retention_keeps_scored = ${keepsScored}, retention_keeps_tags = ${tags}::text[]
      where id = ${projectId} and (retention_days, retention_keeps_scored, retention_keeps_tags)
        is distinct from (${days}::int, ${keepsScored}::boolean, ${tags}::text[])
      returning id
    )
    ${auditStep(sql, audit, sql`changed`)}
    select exists (select from changed) as changed`
  return row.changed
}

/** Returns the conditions for traces that a retention no longer keeps at this time. */
export function expiredAt({ days, keepsScored, keepsTags }: Retention, now: number): TraceConditions {
  return {
    before: new Date(now - days * DAY_MS).toISOString(),
    ...(keepsScored && { unscored: true }),
    ...(keepsTags.length > 0 && { withoutTags: keepsTags })
  }
}

const DAY_MS = 86_400_000
