/** Accounts own projects. An owner account is never limited; a trial account may record a limited number of traces. */
import type { Sql } from 'postgres'
import { type AuditEntry, auditStep } from '../audit.ts'
import type { TrialCharge } from '../write/charge.ts'

export type AccountType = 'owner' | 'trial'

export interface AccountRow {
  readonly id: number
  readonly name: string
  readonly type: AccountType
  /** Number of traces charged to the account. Only trial accounts are charged. */
  readonly trialUsed: number
  readonly createdAt: string
}

export async function insertAccount(sql: Sql, name: string, type: AccountType): Promise<AccountRow> {
  const [row] = await sql<[AccountRow]>`
    with made as (insert into accounts (name, type) values (${name}, ${type}) returning *)
    ${auditStep(sql, { by: null, action: 'account.create', detail: { name, type } }, sql`made`)}
    select ${accountColumns(sql)} from made`
  return row
}

/** Returns all accounts, in order of creation. */
export async function readAccounts(sql: Sql): Promise<AccountRow[]> {
  return sql<AccountRow[]>`select ${accountColumns(sql)} from accounts order by id`
}

/** Renames an account and writes the audit entry. Returns undefined if the account does not exist. */
export async function setAccountName(sql: Sql, id: number, name: string, audit: AuditEntry) {
  const [row] = await sql<AccountRow[]>`
    with changed as (
      update accounts set name = ${name} where id = ${id} returning *
    )
    ${auditStep(sql, audit, sql`changed`)}
    select ${accountColumns(sql)} from changed`
  return row
}

/**
 * Deletes an account and its memberships. Returns undefined and deletes nothing if the account does not exist or has
 * projects.
 */
export async function deleteAccountRow(sql: Sql, id: number, audit: AuditEntry): Promise<AccountRow | undefined> {
  const [row] = await sql<AccountRow[]>`
    with gone as (
      delete from accounts a where id = ${id} and not exists (select from projects where account_id = a.id) returning *
    ), members_gone as (
      delete from memberships m using gone where m.account_id = gone.id
    )
    ${auditStep(sql, audit)}
    select ${accountColumns(sql)} from gone`
  return row
}

/** Whether a trial account has recorded its maximum number of traces. */
export async function isUsedUp(sql: Sql, { accountId, limit }: TrialCharge): Promise<boolean> {
  const [row] = await sql`select from accounts where id = ${accountId} and trial_used >= ${limit}::bigint`
  return row !== undefined
}

function accountColumns(sql: Sql) {
  return sql`id, name, type, trial_used as "trialUsed", created_at as "createdAt"`
}
