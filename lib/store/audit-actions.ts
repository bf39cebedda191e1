/** Names of the actions that the audit log records. A name is never changed, because entries are kept forever. */

/** Actions of people in no account. Owners see these actions of their account's members. */
export const PERSONAL_ACTIONS = [
  'sign-in',
  'sign-in.fail',
  'sign-out',
  'oidc.link',
  'password.set',
  'password.remove',
  'factor.enrol',
  'factor.remove',
  'factor.recover',
  'factor.renew'
] as const

/** Actions in an account or in one of its projects, by the group that the dashboard's page shows. */
export const ACCOUNT_ACTIONS = {
  members: [
    'member.add',
    'member.role',
    'member.remove',
    'link.make',
    'factor.require',
    'factor.unrequire',
    'user.add'
  ],
  keys: ['key.create', 'key.rotate', 'key.revoke', 'key.environment', 'key.use'],
  deletions: ['trace.delete', 'trace.prune', 'score.delete'],
  project: [
    'project.create',
    'project.rename',
    'project.update',
    'project.delete',
    'project.recount',
    'account.create',
    'account.rename',
    'account.delete',
    'environment.backfill',
    'trace.import',
    'price.set',
    'price.remove',
    'price.recompute',
    'score-definition.set',
    'score-definition.remove',
    'retention.set',
    'retention.unset',
    'restore.begin',
    'restore.end'
  ],
  links: ['public-link.make', 'public-link.revoke'],
  views: ['trace.view']
} as const

/** Actions of the instance, which only commands list. */
const INSTANCE_ACTIONS = [
  'oidc.refuse',
  'oidc.unlink',
  'user.remove',
  'key.replace-secret',
  'key.change-secret',
  'backup'
] as const

export type Action =
  | (typeof PERSONAL_ACTIONS)[number]
  | (typeof ACCOUNT_ACTIONS)[keyof typeof ACCOUNT_ACTIONS][number]
  | (typeof INSTANCE_ACTIONS)[number]
