import {
  type Account,
  createAccount,
  deleteAccount,
  findEmptyAccount,
  listAccounts,
  renameAccount
} from '../../lib/admin/accounts.ts'
import { command } from '../command.ts'
import { withDatabase } from '../database.ts'
import { table } from '../terminal/table.ts'
import { relativeTime } from '../terminal/words.ts'

export const create = command({
  summary: 'Create an account that can own projects',
  parameters: ['NAME'],
  flags: { trial: { type: 'boolean', about: 'limit the account to TRIAL_TRACES traces' } },
  examples: ['account create "Research"', 'account create visitors --trial --json'],
  async run({ parameters, flags, env, print }) {
    const account = await withDatabase(env, ({ sql }) =>
      createAccount(sql, parameters.NAME, flags.trial ? 'trial' : 'owner')
    )
    print(account, `made ${account.kind} account ${account.id}: ${account.name}`)
  }
})

export const list = command({
  summary: 'List the accounts',
  examples: ['account list', 'account list --json'],
  async run({ env, print }) {
    const accounts = await withDatabase(env, ({ sql }) => listAccounts(sql))
    print(accounts, accountTable(accounts))
  }
})

export const rename = command({
  summary: 'Rename an account',
  parameters: ['ID', 'NAME'],
  examples: ['account rename 1 "Research"'],
  async run({ parameters, env, print }) {
    const account = await withDatabase(env, ({ sql }) => renameAccount(sql, parameters.ID, parameters.NAME))
    print(account, `account ${account.id} is called ${account.name}`)
  }
})

export const remove = command({
  summary: 'Delete an account that has no projects',
  parameters: ['ID'],
  flags: { 'dry-run': { type: 'boolean', about: 'show the account without deleting it' } },
  details: 'Its members keep their user accounts.',
  examples: ['account delete 2 --dry-run', 'account delete 2'],
  async run({ parameters, flags, env, print }) {
    if (flags['dry-run']) {
      const account = await withDatabase(env, ({ sql }) => findEmptyAccount(sql, parameters.ID))
      print(
        account,
        `${accountTable([account])}\nNothing was changed. Without --dry-run, this account would be deleted.`
      )
      return
    }
    const account = await withDatabase(env, ({ sql }) => deleteAccount(sql, parameters.ID))
    print(account, `account ${account.id} (${account.name}) is deleted`)
  }
})

function accountTable(accounts: readonly Account[]): string {
  const rows = accounts.map(a => [a.id, a.name, a.kind, a.trialUsed, relativeTime(a.createdAt)])
  return table(['ID', 'NAME', 'KIND', 'TRIAL TRACES', 'CREATED'], rows, 'There are no accounts yet.')
}
