/** Reads an account's part of the audit log, for its owners. */
import type { Sql } from 'postgres'
import type { AuditRow } from './audit.ts'
import { ACCOUNT_ACTIONS, PERSONAL_ACTIONS } from './audit-actions.ts'

/** Groups of actions that the page can show on their own. */
export const AUDIT_GROUPS = ['sign-ins', ...(Object.keys(ACCOUNT_ACTIONS) as (keyof typeof ACCOUNT_ACTIONS)[])] as const
export type AuditGroup = (typeof AUDIT_GROUPS)[number]

/** Actions of one group. Without a group, all actions except views of traces, which would hide everything else. */
export function actionsOf(group: AuditGroup | undefined): { readonly account: string[]; readonly personal: string[] } {
  if (group === 'sign-ins') return { account: [], personal: [...PERSONAL_ACTIONS] }
  if (group !== undefined) return { account: [...ACCOUNT_ACTIONS[group]], personal: [] }
  const { views: _, ...others } = ACCOUNT_ACTIONS
  return { account: Object.values(others).flat(), personal: [...PERSONAL_ACTIONS] }
}

export interface AuditPage {
  readonly accountId: number
  readonly group: AuditGroup | undefined
  /** Only entries with a smaller id. */
  readonly before: number | undefined
  readonly limit: number
}

/**
 * Returns an account's newest entries, newest first: actions in the account and in its projects, and its members'
 * actions outside any account since they joined. An index on account and action finds the entries, so that a page costs
 * the same among millions of other entries. Entries are ordered by id, that is, in the order in which they were
 * written.
 */
export async function readAuditPage(sql: Sql, { accountId, group, before, limit }: AuditPage): Promise<AuditRow[]> {
  const { account, personal } = actionsOf(group)
  const newest = sql`${before === undefined ? sql`` : sql`and id < ${before}::bigint`} order by id desc limit ${limit}`
  return sql<AuditRow[]>`
    with found as (
      select own.id from unnest(${account}::text[]) as w (action) cross join lateral (
        select id from audit where account_id = ${accountId} and action = w.action ${newest}
      ) own
      union all
      select own.id from projects p cross join lateral (
        select id from audit
        where account_id is null and project_id = p.id and action = any (${account}::text[]) ${newest}
      ) own where p.account_id = ${accountId}
      union all
      select own.id from memberships m cross join unnest(${personal}::text[]) as w (action) cross join lateral (
        select id from audit
        where account_id is null and project_id is null and user_id = m.user_id and action = w.action
          and at >= m.created_at ${newest}
      ) own where m.account_id = ${accountId}
    )
    select a.id, a.at, a.action, u.email, p.slug as project, c.name as account, a.detail, a.client
    from (select id from found order by id desc limit ${limit}) page
    join audit a using (id)
    left join users u on u.id = a.user_id
    left join projects p on p.id = a.project_id
    left join accounts c on c.id = coalesce(a.account_id, p.account_id)
    order by a.id desc`
}
