/**
 * The audit log records the actions of people, commands and keys, except the recording of traces. The statement that
 * performs an action also writes its entry. For actions on traces, the entry is written in the same transaction
 * (lib/store/transactions.ts). No entry is deleted automatically.
 */
import type { Fragment, Sql } from 'postgres'
import type { Action } from './audit-actions.ts'

export interface AuditEntry {
  /**
   * The acting user's id, or null for a command or a key. The value `source` stands for the user_id in the statement's
   * rows.
   */
  readonly by: number | null | 'source'
  readonly action: Action
  readonly accountId?: number | null
  /** The project's id. The value `source` stands for the project_id in the statement's rows. */
  readonly projectId?: number | null | 'source'
  /** Further facts about the change. Never contains a secret. */
  readonly detail?: Readonly<Record<string, unknown>>
  /**
   * A fact that is added to the detail from the statement's rows. `user` adds the user_id and the user's email address;
   * any other value is the name of the column to add.
   */
  readonly adding?: 'user' | 'proof' | 'reason'
  /** Address of the client; undefined for a command. */
  readonly client?: string | undefined
}

/**
 * Returns a step that writes the entry if `source` has any rows. `source` is the earlier step that makes the change and
 * returns the changed rows.
 */
export function auditOf(sql: Sql, audit: AuditEntry, source: ReturnType<Sql>) {
  const { by, action, accountId = null, projectId = null, detail, adding, client = null } = audit
  const given = sql`${detail === undefined ? null : JSON.stringify(detail)}`
  const added = adding === undefined ? undefined : addition(sql, adding)
  const text = added === undefined ? given : sql`(coalesce(${given}::jsonb, '{}') || ${added})`
  const whole = by === null ? withSystemUser(sql, text) : sql`${text}::json`
  const actor = by === 'source' ? sql`user_id` : sql`${by}::int`
  const project = projectId === 'source' ? sql`project_id` : sql`${projectId}::int`
  return sql`
    insert into audit (user_id, account_id, project_id, action, detail, client)
    select ${actor}, coalesce(${accountId}::int, (select account_id from projects where id = ${project})), ${project},
      ${action}, ${whole}, ${client}
    from ${source} limit 1`
}

/** The address is stored in the entry, because a deleted user no longer has an address. */
const addition = (sql: Sql, adding: NonNullable<AuditEntry['adding']>) =>
  adding === 'user'
    ? sql`jsonb_build_object('user', user_id, 'email', (select u.email from users u where u.id = user_id))`
    : sql`jsonb_build_object(${adding}::text, ${sql(adding)})`

/** Connection setting with the name of the operating system user who ran the command. */
const SYSTEM_USER = 'spoor.system_user'

/** Records the operating system user who runs the command on this connection. */
export async function noteSystemUser(sql: Sql, name: string): Promise<void> {
  await sql`select set_config(${SYSTEM_USER}, ${name}, false)`
}

/** Adds the operating system user, if recorded, to the detail. */
const withSystemUser = (sql: Sql, detail: Fragment) => sql`nullif(
  coalesce(${detail}::jsonb, '{}') || jsonb_strip_nulls(jsonb_build_object(
    'systemUser', nullif(current_setting(${SYSTEM_USER}, true), ''))), '{}')::json`

/** Like `auditOf`, but as the last step of a `with` clause. Empty if `audit` is undefined. */
export const auditStep = (sql: Sql, audit: AuditEntry | undefined, source: ReturnType<Sql> = sql`gone`) =>
  audit === undefined ? sql`` : sql`, audited as (${auditOf(sql, audit, source)})`

/** Writes an entry for changes made by other statements. Returns the entry's id. */
export async function writeAudit(sql: Sql, audit: AuditEntry): Promise<number> {
  const [row] = await sql<[{ id: number }]>`
    ${auditOf(sql, audit, sql`(select ${null}::int as user_id) one`)} returning id`
  return row.id
}

/**
 * Updates the counts in an entry for work that takes many transactions. Each transaction updates the entry, so the
 * entry is correct whenever the work stops.
 */
export async function amendAudit(sql: Sql, id: number, detail: Readonly<Record<string, number>>): Promise<void> {
  await sql`
    update audit set detail = (coalesce(detail::jsonb, '{}') || ${JSON.stringify(detail)}::jsonb)::json where id = ${id}`
}

/**
 * A stored entry. If the user, project or account has since been deleted, its field is null, but `detail` still
 * identifies it.
 */
export interface AuditRow {
  readonly id: number
  readonly at: string
  readonly action: string
  /** The user's email address; null for a command, a key or a deleted user. */
  readonly email: string | null
  readonly project: string | null
  readonly account: string | null
  /** The entry's detail as a JSON string. */
  readonly detail: string | null
  /** Address of the client; null for commands, and for entries from before migration 26. */
  readonly client: string | null
}

/** Statements of servers are cancelled after this time, so older entries are all committed (lib/service.ts). */
const SETTLED_S = 15

/** Limits entries by project and by earliest time. */
export interface AuditSelection {
  readonly projectId?: number | undefined
  readonly since?: string | undefined
  /**
   * Only entries with a larger id, and the oldest of them instead of the newest. Leaves out the entries of the last
   * SETTLED_S seconds, because an entry with a smaller id may be committed after one with a larger id.
   */
  readonly after?: number | undefined
}

/**
 * Returns the newest `most` entries, oldest first; with `after`, the oldest ones, in the order of their ids. After a
 * restore, the order of ids can differ from the chronological order.
 */
export async function readAudit(
  sql: Sql,
  { projectId, since, after }: AuditSelection,
  most: number
): Promise<AuditRow[]> {
  const isOn = after !== undefined
  return sql<AuditRow[]>`
    select * from (
      select a.id, a.at, a.action, u.email, p.slug as project, c.name as account, a.detail, a.client
      from audit a
      left join users u on u.id = a.user_id
      left join projects p on p.id = a.project_id
      left join accounts c on c.id = coalesce(a.account_id, p.account_id)
      where true
        ${projectId === undefined ? sql`` : sql`and a.project_id = ${projectId}`}
        ${since === undefined ? sql`` : sql`and a.at >= ${since}`}
        ${isOn ? sql`and a.id > ${after}::bigint and a.at < now() - ${SETTLED_S} * interval '1 second'` : sql``}
      order by ${isOn ? sql`a.id` : sql`a.at desc, a.id desc`} limit ${most}
    ) chosen order by ${isOn ? sql`id` : sql`at, id`}`
}
