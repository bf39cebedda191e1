/** Determines what an upgrade must do in a data folder, and removes the folders that earlier upgrades left behind. */
import { existsSync } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AdminError } from '../../admin-error.ts'
import type { Config } from '../../config.ts'
import { findBinaries } from '../../database/embedded/binaries.ts'
import { readFolderMajor, sortFolders } from '../../database/embedded/cluster-folders.ts'
import { type DataHome, prepareHome } from '../../database/embedded/folders.ts'
import { readDisk } from '../../database/embedded/free-disk.ts'
import { inspectPostmaster, removeAs } from '../../database/embedded/postmaster.ts'
import type { Logger } from '../../log.ts'
import { ConfigError } from '../../variables.ts'
import { type Plan, planUpgrade } from './plan.ts'
import { programsFolder } from './programs.ts'

/** The folder that holds the new cluster until it is complete. */
export const DRAFT = 'upgrading'

export interface Situation {
  readonly home: DataHome
  /**
   * The upgrade's plan; undefined if the folder already has the PostgreSQL version that this version of spoor ships.
   */
  readonly plan: Plan | undefined
  readonly to: number
  /** Folders of PostgreSQL versions older than the version in use. */
  readonly earlier: readonly string[]
}

/** Inspects the folder without starting or changing anything. */
export async function lookAtFolder({ databaseUrl, dataDir }: Config, log: Logger): Promise<Situation> {
  if (databaseUrl !== undefined) {
    throw new AdminError('DATABASE_URL points to your own PostgreSQL: upgrade it with its own tools (pg_upgrade)')
  }
  if (!existsSync(join(dataDir, 'postgres'))) throw new AdminError(`there is no database in ${dataDir}: set DATA_DIR`)
  const home = await prepareHome(dataDir, log)
  const { major: to } = await findBinaries(home.user, log)
  const [bytes, disk] = [await sizeOf(home.pgData), await readDisk(home.folder)]
  const free = disk?.freeBytes ?? Number.POSITIVE_INFINITY
  const { earlier } = sortFolders(await readdir(home.folder))
  const plan = planUpgrade({ from: readFolderMajor(home.pgData), to, bytes, free })
  return { home, plan, to, earlier: earlier.map(name => join(home.folder, name)) }
}

/** Returns the total bytes of all files in a folder. */
export async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  let bytes = 0
  for (const entry of entries) {
    if (!entry.isFile()) continue
    // Files may disappear while PostgreSQL runs.
    const stats = await lstat(join(entry.parentPath ?? entry.path, entry.name)).catch(() => undefined)
    bytes += stats?.size ?? 0
  }
  return bytes
}

/** Removes the folders of earlier PostgreSQL versions, and the programs fetched for those versions. */
export async function dropEarlier({ dataDir }: Config, { home, earlier }: Situation): Promise<void> {
  for (const pgData of earlier) {
    if ((await inspectPostmaster(pgData)).state !== 'stopped')
      throw new ConfigError(`a PostgreSQL server is still running in ${pgData}`)
  }
  await removeAs(home.user, [...earlier, join(home.folder, DRAFT)])
  const fetched = programsFolder(dataDir)
  if (existsSync(fetched)) await rm(fetched, { recursive: true })
}
