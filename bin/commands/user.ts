import type { User } from '../../lib/admin/people.ts'
import * as people from '../../lib/admin/people.ts'
import { findServer, listenAddress } from '../../lib/health/running-server.ts'
import { command } from '../command.ts'
import { withDatabase } from '../database.ts'
import { readSecret } from '../terminal/input.ts'
import { table } from '../terminal/table.ts'
import { counted, relativeTime } from '../terminal/words.ts'

const ACCOUNT = { type: 'string', value: 'ID', about: 'the account; may be left out where there is only one' } as const

export const add = command({
  summary: 'Add somebody who may use the dashboard',
  parameters: ['EMAIL'],
  flags: {
    account: { type: 'string', value: 'ID', about: 'whose projects they see; the oldest if not given' },
    role: { type: 'string', value: 'owner|member|viewer', about: 'what they may do; member if not given' },
    name: { type: 'string', value: 'NAME', about: 'how they are called' }
  },
  details: [
    'A viewer reads, a member also scores and notes, an owner also deletes, and changes keys and members. Who has an account',
    'already and is added to another one is signed out everywhere, without a password. Nothing is mailed: see `user link`.'
  ].join('\n'),
  examples: ['user add ada@example.com', 'user add ada@example.com --role owner --account 2'],
  async run({ parameters, flags, env, print }) {
    const { account: accountId, role, name } = flags
    const user = await withDatabase(env, ({ sql }) =>
      people.addUser(sql, { email: parameters.EMAIL, name, accountId, role })
    )
    print(user, `${user.email} is ${rolesOf(user)}. Make a link with \`spoor user link ${user.email}\`.`)
  }
})

export const list = command({
  summary: 'List the people who may use the dashboard',
  examples: ['user list', 'user list --json'],
  async run({ env, print }) {
    const users = await withDatabase(env, ({ sql }) => people.listUsers(sql))
    const rows = users.map(user => [
      user.email,
      user.name,
      rolesOf(user),
      user.hasPassword ? 'yes' : 'no',
      user.seenAt === null ? '-' : relativeTime(user.seenAt),
      relativeTime(user.createdAt)
    ])
    const heading = ['EMAIL', 'NAME', 'ROLES', 'PASSWORD', 'LAST SEEN', 'MADE']
    print(users, table(heading, rows, 'There are no users yet: make one with `spoor user add EMAIL`.'))
  }
})

export const remove = command({
  summary: 'Remove somebody, or take them out of one account',
  parameters: ['EMAIL'],
  flags: { account: { type: 'string', value: 'ID', about: 'out of this account only; altogether if not given' } },
  details: 'Their scores stay. The last owner of an account cannot be removed.',
  examples: ['user remove ada@example.com', 'user remove ada@example.com --account 2'],
  async run({ parameters, flags, env, print }) {
    const user = await withDatabase(env, ({ sql }) => people.removeUser(sql, parameters.EMAIL, flags.account))
    print(user, `${user.email} is removed${flags.account === undefined ? '' : ` from account ${flags.account}`}`)
  }
})

export const role = command({
  summary: 'Change what somebody may do',
  parameters: ['EMAIL', 'ROLE'],
  flags: { account: ACCOUNT },
  details: 'ROLE is owner, member or viewer. They are signed out everywhere.',
  examples: ['user role ada@example.com viewer', 'user role ada@example.com owner --account 2'],
  async run({ parameters, flags, env, print }) {
    const { EMAIL, ROLE } = parameters
    const user = await withDatabase(env, ({ sql }) => people.changeRole(sql, EMAIL, ROLE, flags.account))
    print(user, `${user.email} is ${rolesOf(user)}`)
  }
})

export const link = command({
  summary: 'Make a link that signs somebody in to the dashboard, once',
  parameters: ['EMAIL'],
  details:
    'The link works once, within 15 minutes. It signs in the first person to open it, so treat it like a password.',
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
  summary: 'Sign somebody out everywhere',
  parameters: ['EMAIL'],
  details: 'Their links are used up as well.',
  examples: ['user sign-out ada@example.com'],
  async run({ parameters, env, print }) {
    const ended = await withDatabase(env, ({ sql }) => people.signOutUser(sql, parameters.EMAIL))
    print({ sessions: ended }, `ended ${counted(ended, 'session')}`)
  }
})

export const unlink = command({
  summary: 'Let somebody sign in with another account of the sign-in provider',
  parameters: ['EMAIL'],
  details: [
    'Removes the link to their account at the OpenID Connect provider, and signs them out everywhere. The next account that',
    'signs in with their e-mail address is linked instead, if the provider has verified the address or OIDC_TRUST_EMAIL is on.'
  ].join('\n'),
  examples: ['user unlink ada@example.com'],
  async run({ parameters, env, print }) {
    const unlinked = await withDatabase(env, ({ sql }) => people.unlinkUser(sql, parameters.EMAIL))
    print({ unlinked }, `unlinked ${counted(unlinked, 'account')} of the sign-in provider`)
  }
})

export const password = command({
  summary: 'Give somebody a password, read from stdin',
  parameters: ['EMAIL'],
  flags: { remove: { type: 'boolean', about: 'take the password away instead' } },
  details: 'At least 12 characters, in one line. They are signed out everywhere.',
  examples: ['user password ada@example.com < password.txt', 'user password ada@example.com --remove'],
  async run({ parameters, flags, env, print }) {
    const given = flags.remove ? undefined : await readSecret('Password: ')
    const user = await withDatabase(env, ({ sql }) => people.changePassword(sql, parameters.EMAIL, given))
    print(user, `${user.email} has ${user.hasPassword ? 'a new password' : 'no password'}`)
  }
})

function rolesOf({ memberships }: User): string {
  const each = memberships.map(({ account, role }) => `${role} of account ${account}`)
  return each.length === 0 ? 'no member of any account' : each.join(', ')
}
