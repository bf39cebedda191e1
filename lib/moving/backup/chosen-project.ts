/** Chooses one project of a backup, to restore it into an instance that has others. */
import { AdminError, InputError } from '../../admin-error.ts'
import type { BackupKey, BackupProject, BackupUser } from '../../store/instance/backup-head.ts'
import type { AccountRow } from '../../store/projects/accounts.ts'
import type { Head } from './check-head.ts'
import type { LineName } from './format.ts'

export interface ProjectChoice {
  /** The project's slug in the backup. */
  readonly slug: string
  /** The slug here; the slug in the backup by default. */
  readonly as?: string | undefined
  /** Id of the account that gets the project. */
  readonly account?: string | undefined
}

export interface ChosenProject {
  readonly project: BackupProject
  /** The project's account in the backup. */
  readonly account: AccountRow
  readonly users: readonly BackupUser[]
  readonly keys: readonly BackupKey[]
  /** The slug of the restored project. */
  readonly slug: string
  /** The slug until the restore is complete. */
  readonly pendingSlug: string
}

const MOST_SLUG = 64
const PENDING = '-restoring'

export function chooseProject(head: Head, { slug, as = slug }: ProjectChoice): ChosenProject {
  const project = head.projects.find(each => each.slug === slug)
  if (project === undefined) {
    const slugs = head.projects.map(each => each.slug).join(', ') || 'no projects'
    throw new InputError(`the backup has no project ${JSON.stringify(slug)}: it contains ${slugs}`)
  }
  const account = head.accounts.find(({ id }) => id === project.accountId)
  if (account === undefined) throw new AdminError(`the backup is damaged: the account of ${slug} is missing`)
  return {
    project,
    account,
    users: head.users,
    keys: head.keys.filter(({ projectId }) => projectId === project.id),
    slug: as,
    pendingSlug: `${as.slice(0, MOST_SLUG - PENDING.length)}${PENDING}`
  }
}

/** Whether a line belongs to a project and comes before the project's sum. */
export const isPassed = (name: LineName | 'rows' | 'trace'): boolean =>
  name === 'rows' || name === 'trace' || name === 'messages' || name === 'author'
