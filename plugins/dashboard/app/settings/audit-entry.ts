/** Puts entries of the audit log into words. */
import type { AuditItem } from '../contract.ts'

export const GROUP_CHOICES = [
  ['', 'Everything except views'],
  ['sign-ins', 'Signing in and out'],
  ['members', 'Members'],
  ['keys', 'Keys'],
  ['deletions', 'Deletions'],
  ['links', 'Public links'],
  ['project', 'Projects and accounts'],
  ['views', 'Opened traces']
] as const

/** Texts for the actions. An action that is missing here is shown by its name. */
const TEXTS: Readonly<Record<string, string>> = {
  'sign-in': 'Signed in',
  'sign-in.fail': 'Failed to sign in',
  'sign-out': 'Signed out',
  'oidc.link': 'Linked an account at the sign-in provider',
  'password.set': 'Set a password',
  'password.remove': 'Removed a password',
  'factor.enrol': 'Turned on two-step sign-in',
  'factor.remove': 'Turned off two-step sign-in',
  'factor.recover': 'Used a recovery code',
  'factor.renew': 'Created new recovery codes',
  'factor.require': 'Required two-step sign-in',
  'factor.unrequire': 'Made two-step sign-in optional',
  'link.make': 'Created a sign-in link',
  'user.add': 'Added a user',
  'member.add': 'Added a member',
  'member.role': 'Changed a role',
  'member.remove': 'Removed a member',
  'key.create': 'Created a key',
  'key.rotate': 'Rotated a key',
  'key.revoke': 'Revoked a key',
  'key.environment': "Changed a key's environment",
  'environment.backfill': 'Set the environment of traces',
  'trace.delete': 'Deleted traces',
  'trace.prune': 'Pruned traces',
  'trace.import': 'Imported traces',
  'trace.view': 'Opened a trace',
  'score.delete': 'Deleted a score',
  'public-link.make': 'Created a public link',
  'public-link.revoke': 'Revoked a public link',
  'project.create': 'Created a project',
  'project.rename': 'Renamed a project',
  'project.update': 'Changed a project',
  'project.delete': 'Deleted a project',
  'project.recount': 'Recounted a project',
  'account.create': 'Created an account',
  'account.rename': 'Renamed an account',
  'account.delete': 'Deleted an account',
  'price.set': 'Set a price',
  'price.remove': 'Removed a price',
  'price.recompute': 'Recomputed costs',
  'score-definition.set': 'Defined a score',
  'score-definition.remove': "Removed a score's definition",
  'retention.set': 'Set the retention period',
  'retention.unset': 'Removed the retention period',
  'restore.begin': 'Started restoring a project',
  'restore.end': 'Restored a project'
}

type Described = Pick<AuditItem, 'action' | 'detail'>

export function textOfAction({ action, detail }: Described): string {
  if (action === 'key.use') return detail.before === null ? 'Used a key for the first time' : 'Used a key again'
  return Object.hasOwn(TEXTS, action) ? TEXTS[action]! : action
}

/** Names for facts. A fact that is missing here keeps its name. */
const FACTS: Readonly<Record<string, string>> = {
  means: 'by',
  // The action already says that it is a key.
  keyId: '',
  traceId: 'trace',
  scoreId: 'score',
  before: 'before',
  email: 'user'
}

/** Returns the facts of an entry, such as `key abc`. A user's number adds nothing to the address. */
export function wordsOfDetail({ detail }: Described): string[] {
  return Object.entries(detail)
    .filter(([name, value]) => value !== null && !(name === 'user' && 'email' in detail))
    .map(([name, value]) => `${FACTS[name] ?? name} ${wordsOf(value)}`.trim())
}

const wordsOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : Array.isArray(value) && value.every(each => typeof each === 'string')
      ? value.join(' ')
      : JSON.stringify(value)
