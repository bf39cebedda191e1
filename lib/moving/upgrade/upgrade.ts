/**
 * Implements `spoor upgrade`, which moves the embedded database to the PostgreSQL version that this version of spoor
 * ships. The old and the new server run side by side. A backup of the old server is restored into the new server and
 * read back, as in any other restore. The new folder is renamed once complete, and the old folder's traces do not
 * change.
 *
 * If the upgrade stops before the rename, the upgrade can be run again from scratch, or the earlier version of spoor
 * can be started on the old folder.
 */
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { AdminError } from '../../admin-error.ts'
import type { Config } from '../../config.ts'
import type { Database } from '../../database/database.ts'
import { findBinaries } from '../../database/embedded/binaries.ts'
import { folderOfMajor } from '../../database/embedded/cluster-folders.ts'
import { enterFolder } from '../../database/embedded/folder-users.ts'
import { type DataHome, LIBRARIES } from '../../database/embedded/folders.ts'
import { holdFolder } from '../../database/embedded/lock-file.ts'
import { readOrCreateSecret } from '../../database/embedded/own-file.ts'
import { initializeCluster, makeFolderAs, removeAs } from '../../database/embedded/postmaster.ts'
import { migrate, readSchemaState } from '../../database/migrate.ts'
import { Pool } from '../../database/pool.ts'
import { WritePath } from '../../ingest/write-path.ts'
import type { Logger } from '../../log.ts'
import type { BackupCounts } from '../backup/format.ts'
import { readOnThread } from '../backup/reading-thread.ts'
import { restoreBackup } from '../backup/restore-backup.ts'
import { syncFolder } from '../backup/whole-file.ts'
import { backUp } from '../backup/write-backup.ts'
import { DRAFT } from './data-folder.ts'
import { type Plan, requireRoom } from './plan.ts'
import { type ClusterSecrets, stopLeftOver, withPrivate } from './private-cluster.ts'
import { obtainPrograms, type ProgramsWanted } from './programs.ts'

export interface UpgradeOptions extends ProgramsWanted {
  /** Heap of the worker threads that read backup lines, in MiB. */
  readonly heapMiB: number
  /** The operating-system user who runs the upgrade. */
  readonly systemUser: string
  readonly signal: AbortSignal
  readonly onProgress: (traces: number, expected: number) => void
}

export async function upgrade(
  config: Config,
  log: Logger,
  { home, plan }: { readonly home: DataHome; readonly plan: Plan },
  options: UpgradeOptions
): Promise<BackupCounts> {
  const { dataDir } = config
  const { user } = home
  const { signal, onStage } = options
  requireRoom(plan)
  const programs = await obtainPrograms(dataDir, plan.from, options)
  const oldBinaries = await findBinaries(user, log, { package: programs })
  const newBinaries = await findBinaries(user, log, { links: join(home.folder, LIBRARIES) })
  const leave = await enterFolder(dataDir, log)
  const release = await holdFolder(dataDir).catch(async error => {
    await leave()
    throw error
  })
  try {
    const secrets = await readSecrets(config, log)
    const draft = { folder: join(home.folder, DRAFT), pgData: join(home.folder, DRAFT, 'data'), user }
    await stopLeftOver(draft, secrets.password)
    await removeAs(user, [draft.folder])
    try {
      onStage(`starting PostgreSQL ${plan.from}`)
      const counts = await withPrivate({ binaries: oldBinaries, user }, home, secrets, async old => {
        await migrateOld(old, log)
        onStage(`creating a PostgreSQL ${plan.to} database`)
        await makeFolderAs(user, draft.folder)
        await initializeCluster({ binaries: newBinaries, user }, draft.pgData, secrets.password)
        return withPrivate({ binaries: newBinaries, user }, draft, secrets, async fresh => {
          await migrate(fresh, log)
          onStage('moving the data')
          return move(old, fresh, config, log, options)
        })
      })
      if (signal.aborted) throw interrupted()
      await rename(draft.pgData, join(home.folder, folderOfMajor(plan.to)))
      await syncFolder(home.folder)
      return counts
    } finally {
      await removeAs(user, [draft.folder])
    }
  } finally {
    await release()
    await leave()
  }
}

const interrupted = () => new AdminError('interrupted: the database is unchanged')

async function readSecrets({ dataDir, keyDigestSecret }: Config, log: Logger): Promise<ClusterSecrets> {
  const password = await readOrCreateSecret(join(dataDir, 'database-password'), log)
  return {
    password,
    digestSecret: keyDigestSecret ?? (await readOrCreateSecret(join(dataDir, 'key-digest-secret'), log))
  }
}

/**
 * Migrates the old database to this version's schema, because backups require that schema. Migrations never remove
 * tables or columns, so an earlier version of spoor can still use the old folder.
 */
async function migrateOld(database: Database, log: Logger): Promise<void> {
  const sql = database.connect({ applicationName: 'upgrade' })
  try {
    const { state } = await readSchemaState(sql)
    if (state === 'newer') throw new AdminError('the schema is newer than this version of spoor: update spoor first')
    if (state !== 'current') await migrate(database, log)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function move(
  old: Database,
  fresh: Database,
  { workers }: Config,
  log: Logger,
  { heapMiB, systemUser, signal, onProgress }: UpgradeOptions
): Promise<BackupCounts> {
  const source = new Pool(onClose => old.connect({ applicationName: 'backup', onClose }), { size: 1 })
  // One connection holds the restore's lock, and the other does the work.
  const pool = new Pool(onClose => fresh.connect({ applicationName: 'restore', onClose }), { size: 2 })
  const path = new WritePath(fresh, { workers, trialTraces: undefined, heapMiB, asyncCommit: true }, log)
  const target = { pool, path, digestSecret: fresh.digestSecret }
  try {
    const { latest } = await source.run(sql => readSchemaState(sql))
    return await backUp(source, latest, async bytes => {
      const choice = { into: false, revokeKeys: false, systemUser, signal }
      await restoreBackup(target, readOnThread(bytes), { ...choice, onProgress: (n, of = 0) => onProgress(n, of) })
    })
  } catch (error) {
    throw signal.aborted ? interrupted() : error
  } finally {
    await path.close()
    await pool.end(0)
    await source.end(0)
  }
}
