import { createAccount, listAccounts } from '../../lib/admin/accounts.ts'
import { command } from '../command.ts'
import { withDatabase } from '../database.ts'
import { table } from '../table.ts'
import { relativeTime } from '../words.ts'

export const create = command({
  summary: 'Make an account, which owns projects',
  usage: {
    parameters: ['NAME'],
    flags: {
      trial: { type: 'boolean', about: 'limit the account to TRIAL_TRACES traces' }
    },
    examples: ['account create "Research"', 'account create visitors --trial --json']
  },
  async run({ parameters, flags, env, print }) {
    const account = await withDatabase(env, ({ sql }) =>
      createAccount(sql, parameters.NAME, flags.trial ? 'trial' : 'owner')
    )
    print(account, `made ${account.kind} account ${account.id}: ${account.name}`)
  }
})

export const list = command({
  summary: 'List the accounts',
  usage: { parameters: [], flags: {}, examples: ['account list', 'account list --json'] },
  async run({ env, print }) {
    const accounts = await withDatabase(env, ({ sql }) => listAccounts(sql))
    const rows = accounts.map(a => [a.id, a.name, a.kind, a.trialUsed, relativeTime(a.createdAt)])
    print(accounts, table(['ID', 'NAME', 'KIND', 'TRIAL TRACES', 'MADE'], rows, 'There are no accounts yet.'))
  }
})
