import type { User } from '../../lib/admin/people.ts'
import * as people from '../../lib/admin/people.ts'
import { findServer, listenAddress } from '../../lib/health/running-server.ts'
import { command } from '../command.ts'
import { withDatabase } from '../database.ts'
import { readSecret } from '../terminal/input.ts'
import { table } from '../terminal/table.ts'
import { counted, relativeTime } from '../terminal/words.ts'

const ACCOUNT = { type: 'string', value: 'ID', about: 'the account; not needed if there is only one' } as const

export const add = command({
  summary: 'Add a dashboard user',
  parameters: ['EMAIL'],
  flags: {
    account: {
      type: 'string',
      value: 'ID',
      about: 'the account whose projects the user can see; the oldest by default'
    },
    role: { type: 'string', value: 'owner|member|viewer', about: 'the role in the account; member by default' },
    name: { type: 'string', value: 'NAME', about: "the user's name" }
  },
  details: [
    'A viewer can read; a member can also add scores and notes; an owner can also delete data, and manage keys and',
    'members. A user who already belongs to another account is signed out everywhere and loses their password. No',
    'e-mail is sent: see `user link`.'
  ].join('\n'),
  examples: ['user add ada@example.com', 'user add ada@example.com --role owner --account 2'],
  async run({ parameters, flags, env, print }) {
    const { account: accountId, role, name } = flags
    const user = await withDatabase(env, ({ sql }) =>
      people.addUser(sql, { email: parameters.EMAIL, name, accountId, role })
    )
    print(user, `${user.email} is ${rolesOf(user)}. Create a link with \`spoor user link ${user.email}\`.`)
  }
})

export const list = command({
  summary: 'List dashboard users',
  examples: ['user list', 'user list --json'],
  async run({ env, print }) {
    const users = await withDatabase(env, ({ sql }) => people.listUsers(sql))
    print(users, userTable(users))
  }
})

export const remove = command({
  summary: 'Delete a user, or remove a user from one account',
  parameters: ['EMAIL'],
  flags: {
    account: {
      type: 'string',
      value: 'ID',
      about: 'remove the user from this account only; by default, delete the user'
    },
    'dry-run': { type: 'boolean', about: 'show the user without removing them' }
  },
  details: "The user's scores are kept. An account's last owner cannot be removed.",
  examples: ['user remove ada@example.com', 'user remove ada@example.com --account 2'],
  async run({ parameters, flags, env, print }) {
    if (flags['dry-run']) {
      const user = await withDatabase(env, ({ sql }) => people.findUser(sql, parameters.EMAIL, flags.account))
      print(user, `${userTable([user])}\nNothing was changed. Without --dry-run, this user would be removed.`)
      return
    }
    const user = await withDatabase(env, ({ sql }) => people.removeUser(sql, parameters.EMAIL, flags.account))
    print(user, `${user.email} is removed${flags.account === undefined ? '' : ` from account ${flags.account}`}`)
  }
})

export const role = command({
  summary: "Change a user's role",
  parameters: ['EMAIL', 'ROLE'],
  flags: { account: ACCOUNT },
  details: 'ROLE is owner, member or viewer. The user is signed out everywhere.',
  examples: ['user role ada@example.com viewer', 'user role ada@example.com owner --account 2'],
  async run({ parameters, flags, env, print }) {
    const { EMAIL, ROLE } = parameters
    const user = await withDatabase(env, ({ sql }) => people.changeRole(sql, EMAIL, ROLE, flags.account))
    print(user, `${user.email} is ${rolesOf(user)}`)
  }
})

export const link = command({
  summary: 'Create a one-time dashboard sign-in link for a user',
  parameters: ['EMAIL'],
  details: [
    'The link can be used once, and expires after 15 minutes. It signs in whoever opens it first, so treat it like a',
    'password.'
  ].join('\n'),
  examples: ['user link owner', 'user link ada@example.com --json'],
  async run({ parameters, env, print }) {
    const { EMAIL: email } = parameters
    const address = await withDatabase(env, async ({ config, sql }) => {
      const baseUrl =
        config.baseUrl ?? (await findServer(config, sql))?.address ?? listenAddress(config.host, config.port)
      return people.makeLink(sql, email, baseUrl)
    })
    print({ link: address }, address)
  }
})

export const signOut = command({
  summary: 'Sign a user out everywhere',
  parameters: ['EMAIL'],
  details: "The user's sign-in links become invalid too.",
  examples: ['user sign-out ada@example.com'],
  async run({ parameters, env, print }) {
    const ended = await withDatabase(env, ({ sql }) => people.signOutUser(sql, parameters.EMAIL))
    print({ sessions: ended }, `ended ${counted(ended, 'session')}`)
  }
})

export const unlink = command({
  summary: 'Let a user sign in with a different account at the sign-in provider',
  parameters: ['EMAIL'],
  details: [
    'Unlinks the user from their OpenID Connect account, and signs them out everywhere. The next OpenID Connect',
    'account that signs in with the same e-mail address is linked instead, if the provider has verified the address or',
    'OIDC_TRUST_EMAIL is on.'
  ].join('\n'),
  examples: ['user unlink ada@example.com'],
  async run({ parameters, env, print }) {
    const unlinked = await withDatabase(env, ({ sql }) => people.unlinkUser(sql, parameters.EMAIL))
    print({ unlinked }, `unlinked ${counted(unlinked, 'account')} at the sign-in provider`)
  }
})

export const password = command({
  summary: "Set a user's password, read from stdin",
  parameters: ['EMAIL'],
  flags: { remove: { type: 'boolean', about: 'remove the password instead' } },
  details: 'The password must be a single line of at least 12 characters. The user is signed out everywhere.',
  examples: ['user password ada@example.com < password.txt', 'user password ada@example.com --remove'],
  async run({ parameters, flags, env, print }) {
    const given = flags.remove ? undefined : await readSecret('Password: ')
    const user = await withDatabase(env, ({ sql }) => people.changePassword(sql, parameters.EMAIL, given))
    print(user, `${user.email} has ${user.hasPassword ? 'a new password' : 'no password'}`)
  }
})

export const resetCodes = command({
  summary: 'Turn off two-step sign-in for a user who lost their authenticator app',
  parameters: ['EMAIL'],
  details: 'The user then signs in with only their password, and can turn two-step sign-in on again under Account.',
  examples: ['user reset-codes ada@example.com'],
  async run({ parameters, env, print }) {
    const removed = await withDatabase(env, ({ sql }) => people.resetFactor(sql, parameters.EMAIL))
    print({ removed }, removed ? `two-step sign-in of ${parameters.EMAIL} is off` : 'two-step sign-in was off')
  }
})

function rolesOf({ memberships }: User): string {
  const each = memberships.map(({ account, role }) => `${role} of account ${account}`)
  return each.length === 0 ? 'not a member of any account' : each.join(', ')
}

function userTable(users: readonly people.User[]): string {
  const rows = users.map(user => [
    user.email,
    user.name,
    rolesOf(user),
    user.hasPassword ? 'yes' : 'no',
    user.seenAt === null ? '-' : relativeTime(user.seenAt),
    relativeTime(user.createdAt)
  ])
  const heading = ['EMAIL', 'NAME', 'ROLES', 'PASSWORD', 'LAST SEEN', 'CREATED']
  return table(heading, rows, 'There are no users yet: create one with `spoor user add EMAIL`.')
}
