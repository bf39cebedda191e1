/** Accounts own projects. An owner account is never limited; a trial account may record a limited number of traces. */
import type { Sql } from 'postgres'
import type { TrialCharge } from './write/charge.ts'

export type AccountType = 'owner' | 'trial'

export interface AccountRow {
  readonly id: number
  readonly name: string
  readonly type: AccountType
  /** How many traces were charged to the account. Only trial accounts are charged. */
  readonly trialUsed: number
  readonly createdAt: string
}

export async function insertAccount(sql: Sql, name: string, type: AccountType): Promise<AccountRow> {
  const [row] = await sql<[AccountRow]>`
    insert into accounts (name, type) values (${name}, ${type}) returning ${accountColumns(sql)}`
  return row
}

/** All accounts, in the order in which they were made. */
export async function listAccounts(sql: Sql): Promise<AccountRow[]> {
  return sql<AccountRow[]>`select ${accountColumns(sql)} from accounts order by id`
}

/** Whether a trial account has recorded as many traces as it may. */
export async function isUsedUp(sql: Sql, { accountId, limit }: TrialCharge): Promise<boolean> {
  const [row] = await sql`select from accounts where id = ${accountId} and trial_used >= ${limit}::bigint`
  return row !== undefined
}

function accountColumns(sql: Sql) {
  return sql`id, name, type, trial_used as "trialUsed", created_at as "createdAt"`
}
