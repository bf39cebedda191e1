/** Checks a backup's accounts, projects, people and keys against each other before anything is restored. */
import { AdminError } from '../../admin-error.ts'
import { isStoredPassword } from '../../people/passwords.ts'
import type { InstanceHead } from '../../store/instance/backup-head.ts'
import type { Manifest } from './format.ts'

export interface Head extends Omit<InstanceHead, 'secret' | 'prices'> {
  readonly manifest: Manifest
}

/** Throws an AdminError if an item refers to something that is not in the backup. */
export function checkReferences({ accounts, projects, users, members, keys }: Head): void {
  const ids = (items: readonly { readonly id: number }[]) => new Set(items.map(({ id }) => id))
  const [accountIds, projectIds, userIds] = [ids(accounts), ids(projects), ids(users)]
  const isWhole =
    projects.every(({ accountId }) => accountIds.has(accountId)) &&
    projects.every(({ views = [] }) => views.every(({ userId }) => userId === null || userIds.has(userId))) &&
    members.every(({ accountId, userId }) => accountIds.has(accountId) && userIds.has(userId)) &&
    keys.every(({ projectId }) => projectIds.has(projectId))
  if (!isWhole) throw new AdminError('the backup is damaged: it contains a row whose parent is missing')
}

/** Throws an AdminError if a row occurs twice or a password is malformed. */
export function checkPeople({ manifest, accounts, projects, users, members, keys }: Head): void {
  const lists: [string, readonly (string | number)[]][] = [
    ['account', accounts.map(({ id }) => id)],
    ['project', projects.map(({ id }) => id)],
    ['project', projects.map(({ slug }) => slug)],
    ['user', users.map(({ id }) => id)],
    ['user', users.map(({ email }) => email)],
    ['membership of account and user', members.map(({ accountId, userId }) => `${accountId} ${userId}`)],
    ['key', keys.map(({ id }) => id)],
    [
      'identity',
      users.flatMap(({ identities = [] }) => identities.map(({ issuer, subject }) => `${issuer} ${subject}`))
    ],
    ...[manifest, ...projects].map(({ prices = [] }): [string, readonly string[]] => [
      'price',
      prices.map(({ model, from }) => `${model} ${from}`)
    ]),
    [
      'score definition',
      projects.flatMap(({ slug, scoreDefinitions = [] }) => scoreDefinitions.map(({ name }) => `${slug} ${name}`))
    ],
    ['view', projects.flatMap(({ slug, views = [] }) => views.map(view => `${slug} ${view.userId} ${view.name}`))]
  ]
  for (const [kind, names] of lists) {
    const seen = new Set<string | number>()
    const twice = names.find(name => seen.size === seen.add(name).size)
    if (twice !== undefined) throw new AdminError(`the backup is damaged: it contains the ${kind} ${twice} twice`)
  }
  const wrong = users.find(({ password }) => password !== null && !isStoredPassword(password))
  if (wrong !== undefined) {
    throw new AdminError(`the backup is damaged: the stored password of ${wrong.email} is malformed`)
  }
}
