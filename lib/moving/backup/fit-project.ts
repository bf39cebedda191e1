/** Fits a project of a backup into this instance, which has other accounts, users and keys than the backup. */
import type { Sql } from 'postgres'
import { AdminError } from '../../admin-error.ts'
import type { BackupKey, BackupProject } from '../../store/instance/backup-head.ts'
import { findUsers, type Numbers, readTaken } from '../../store/instance/restoration.ts'
import { type AccountRow, readAccounts } from '../../store/projects/accounts.ts'
import type { ChosenProject } from './chosen-project.ts'

export interface OwnProject {
  readonly project: BackupProject
  readonly accountId: number
  /** Maps users of the backup to the users here with the same addresses. */
  readonly users: Numbers
  readonly slug: string
  readonly pendingSlug: string
  /** The project's keys, except those that exist here. */
  readonly keys: readonly BackupKey[]
  /** Ids of the project's keys that already exist here. */
  readonly keptKeys: readonly string[]
}

/**
 * Chooses the project's account: `account` if given, else the account that had the project, else the oldest owner
 * account. Views of users who do not exist here are left out. `begun` is the project that an interrupted restore
 * created.
 */
export async function fitProject(
  sql: Sql,
  { project, account: original, users: all, keys, slug, pendingSlug }: ChosenProject,
  account: string | undefined,
  begun: number | undefined
): Promise<OwnProject> {
  const taken = await readTaken(sql, { slug, pendingSlug, keys }, begun)
  if (taken.slug !== undefined) {
    throw new AdminError(`the slug ${taken.slug} is already used by another project here: choose another with --as`)
  }
  const users = await findUsers(sql, all)
  const { views, retention, ...fields } = project
  const own = views?.filter(({ userId }) => userId === null || users.has(userId))
  return {
    // A copy next to the project is not pruned, because its traces are older than the retention allows.
    project: { ...fields, ...(own && { views: own }), ...(retention && slug === project.slug && { retention }) },
    accountId: chooseOwner(await readAccounts(sql), original, account).id,
    users,
    slug,
    pendingSlug,
    keys: keys.filter(({ id }) => !taken.keys.includes(id)),
    keptKeys: taken.keys
  }
}

function chooseOwner(here: readonly AccountRow[], original: AccountRow, wanted: string | undefined): AccountRow {
  const found =
    wanted === undefined
      ? (here.find(({ id, createdAt }) => id === original.id && createdAt === original.createdAt) ??
        here.find(({ type }) => type === 'owner'))
      : here.find(({ id }) => String(id) === wanted)
  if (found !== undefined) return found
  const missing = wanted === undefined ? 'no owner account yet' : `no account ${JSON.stringify(wanted)}`
  throw new AdminError(`there is ${missing}: see \`spoor account list\` and \`spoor account create\``)
}
