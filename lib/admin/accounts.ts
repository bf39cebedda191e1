/** Implements `spoor account`. Ids are strings here, as in all responses. */
import type { Sql } from 'postgres'
import { AdminError } from '../admin-error.ts'
import type { AccountRow, AccountType } from '../store/projects/accounts.ts'
import * as store from '../store/projects/accounts.ts'
import { readProjects } from '../store/projects/projects.ts'
import { checkText } from './text.ts'

export interface Account extends Omit<AccountRow, 'id' | 'type'> {
  readonly id: string
  readonly kind: AccountType
}

export async function createAccount(sql: Sql, name: string, kind: AccountType): Promise<Account> {
  return present(await store.insertAccount(sql, checkText('the name', name, 1, 200), kind))
}

export async function listAccounts(sql: Sql): Promise<Account[]> {
  return (await store.readAccounts(sql)).map(present)
}

export async function renameAccount(sql: Sql, id: string, name: string): Promise<Account> {
  const { id: accountId, name: before } = await findAccount(sql, id)
  const audit = { by: null, action: 'account.rename', accountId, detail: { account: accountId, before, name } } as const
  const row = await store.setAccountName(sql, accountId, checkText('the name', name, 1, 200), audit)
  if (row === undefined) throw new AdminError(`account ${id} has just been deleted`)
  return present(row)
}

/** Deletes an account that has no projects, together with its memberships. */
export async function deleteAccount(sql: Sql, id: string): Promise<Account> {
  const { id: accountId, name } = await findAccount(sql, id)
  const detail = { account: accountId, name }
  const row = await store.deleteAccountRow(sql, accountId, { by: null, action: 'account.delete', accountId, detail })
  if (row !== undefined) return present(row)
  throw hasProjects(id)
}

/** Returns an account that can be deleted because it has no projects. */
export async function findEmptyAccount(sql: Sql, id: string): Promise<Account> {
  const account = await findAccount(sql, id)
  if ((await readProjects(sql)).some(({ accountId }) => accountId === account.id)) throw hasProjects(id)
  return present(account)
}

const hasProjects = (id: string) =>
  new AdminError(`account ${id} has projects: delete or move them (\`spoor project update\`)`)

/** Returns the account for a new project: the requested account, or the oldest owner account. */
export async function chooseAccount(sql: Sql, id: string | undefined): Promise<number> {
  return (await findAccount(sql, id)).id
}

async function findAccount(sql: Sql, id: string | undefined): Promise<AccountRow> {
  const accounts = await store.readAccounts(sql)
  const chosen = accounts.find(account => (id === undefined ? account.type === 'owner' : String(account.id) === id))
  if (chosen !== undefined) return chosen
  throw new AdminError(
    id === undefined
      ? 'there is no owner account yet: create one with `spoor account create NAME`'
      : `there is no account ${JSON.stringify(id)}: see \`spoor account list\``
  )
}

function present({ id, name, type, trialUsed, createdAt }: AccountRow): Account {
  return { id: String(id), name, kind: type, trialUsed, createdAt }
}
