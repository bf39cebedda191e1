/**
 * The audit log: what people, commands and keys did other than recording. Each entry is a row, written in the statement
 * that does it, or in its transaction where that is about traces (lib/store/transactions.ts). Rows stay until somebody
 * deletes them.
 */
import type { Fragment, Sql } from 'postgres'

/** One entry of the audit log. */
export interface AuditEntry {
  /** The user who did it; null for a command or a key; `source`: whom the rows of the statement name in user_id. */
  readonly by: number | null | 'source'
  readonly action: Action
  readonly accountId?: number | null
  /** `source`: that of the statement's rows, in project_id. */
  readonly projectId?: number | null | 'source'
  /** What else is worth knowing; never a secret. */
  readonly detail?: Readonly<Record<string, unknown>>
  /**
   * What the detail takes from the statement's rows: `user`, whom user_id names, with their address; else that column.
   */
  readonly adding?: 'user' | 'proof' | 'reason'
}

export type Action =
  | 'sign-in'
  | 'sign-out'
  | 'oidc.link'
  | 'oidc.refuse'
  | 'oidc.unlink'
  | 'link.make'
  | 'password.set'
  | 'password.remove'
  | 'user.add'
  | 'user.remove'
  | 'member.add'
  | 'member.role'
  | 'member.remove'
  | 'key.create'
  | 'key.rotate'
  | 'key.revoke'
  | 'key.environment'
  | 'key.replace-secret'
  | 'environment.backfill'
  | 'project.create'
  | 'project.recount'
  | 'account.create'
  | 'project.rename'
  | 'project.update'
  | 'project.delete'
  | 'account.rename'
  | 'account.delete'
  | 'restore.begin'
  | 'restore.end'
  | 'trace.delete'
  | 'trace.prune'
  | 'trace.import'
  | 'score.delete'

/** A step of a statement that writes the entry, if `source`, the rows that an earlier step changed, has any. */
export function auditOf(sql: Sql, audit: AuditEntry, source: ReturnType<Sql>) {
  const { by, action, accountId = null, projectId = null, detail, adding } = audit
  const given = sql`${detail === undefined ? null : JSON.stringify(detail)}`
  const added = adding === undefined ? undefined : addition(sql, adding)
  const text = added === undefined ? given : sql`(coalesce(${given}::jsonb, '{}') || ${added})`
  const whole = by === null ? withSystemUser(sql, text) : sql`${text}::json`
  return sql`
    insert into audit (user_id, account_id, project_id, action, detail)
    select ${by === 'source' ? sql`user_id` : sql`${by}::int`}, ${accountId}::int, ${projectId === 'source' ? sql`project_id` : sql`${projectId}::int`}, ${action}, ${whole}
    from ${source} limit 1`
}

/** The address is looked up here, since a user who is gone later has none. */
const addition = (sql: Sql, adding: NonNullable<AuditEntry['adding']>) =>
  adding === 'user'
    ? sql`jsonb_build_object('user', user_id, 'email', (select u.email from users u where u.id = user_id))`
    : sql`jsonb_build_object(${adding}::text, ${sql(adding)})`

/** The setting of a command's connection that names the user of the system who gave the command. */
const SYSTEM_USER = 'spoor.system_user'

/** Says to this connection for whom a command acts. */
export async function noteSystemUser(sql: Sql, name: string): Promise<void> {
  await sql`select set_config(${SYSTEM_USER}, ${name}, false)`
}

/** The detail with the user of the system, where one was noted. */
const withSystemUser = (sql: Sql, detail: Fragment) => sql`nullif(
  coalesce(${detail}::jsonb, '{}') || jsonb_strip_nulls(jsonb_build_object(
    'systemUser', nullif(current_setting(${SYSTEM_USER}, true), ''))), '{}')::json`

/** The same as the last step of a `with` whose step `source` has what was changed; nothing if there is no entry. */
export const auditStep = (sql: Sql, audit: AuditEntry | undefined, source: ReturnType<Sql> = sql`gone`) =>
  audit === undefined ? sql`` : sql`, audited as (${auditOf(sql, audit, source)})`

/** Writes the entry of what other statements do. Returns its number. */
export async function writeAudit(sql: Sql, audit: AuditEntry): Promise<number> {
  const [row] = await sql<[{ id: number }]>`
    ${auditOf(sql, audit, sql`(select ${null}::int as user_id) one`)} returning id`
  return row.id
}

/**
 * Adds what has been done so far to the entry of work that takes many transactions. Each of them amends the entry, so
 * that it is right wherever the work ends.
 */
export async function amendAudit(sql: Sql, id: number, detail: Readonly<Record<string, number>>): Promise<void> {
  await sql`
    update audit set detail = (coalesce(detail::jsonb, '{}') || ${JSON.stringify(detail)}::jsonb)::json where id = ${id}`
}

/** An entry as it was written. What is gone since is null, and stays in `detail`. */
export interface AuditRow {
  readonly id: number
  readonly at: string
  readonly action: string
  /** The address of the user; null for a command or a key, or if the user is gone. */
  readonly email: string | null
  readonly project: string | null
  readonly account: string | null
  /** JSON text. */
  readonly detail: string | null
}

/** Which entries are read: those in a project, and those since a time. */
export interface AuditSelection {
  readonly projectId?: number | undefined
  readonly since?: string | undefined
}

/**
 * The newest entries, at most `most`, in the order of their times: a restored backup has older ones with higher
 * numbers.
 */
export async function readAudit(sql: Sql, { projectId, since }: AuditSelection, most: number): Promise<AuditRow[]> {
  return sql<AuditRow[]>`
    select * from (
      select a.id, a.at, a.action, u.email, p.slug as project, c.name as account, a.detail
      from audit a
      left join users u on u.id = a.user_id
      left join projects p on p.id = a.project_id
      left join accounts c on c.id = coalesce(a.account_id, p.account_id)
      where true
        ${projectId === undefined ? sql`` : sql`and a.project_id = ${projectId}`}
        ${since === undefined ? sql`` : sql`and a.at >= ${since}`}
      order by a.at desc, a.id desc limit ${most}
    ) newest order by at, id`
}
