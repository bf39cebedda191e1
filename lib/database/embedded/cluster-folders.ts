/**
 * The data folders of PostgreSQL in the cluster's home. The first is `data`. A newer major version of PostgreSQL cannot
 * open it, so an upgrade (lib/moving/upgrade) makes another one beside it, such as `postgresql-19`. That name appears
 * when the folder is complete, and from then on the folder of the highest version is the one that is used. The others
 * stay as they were, until an operator removes them. A name must not begin with `data-`: earlier versions of spoor
 * remove such folders as drafts.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../config.ts'

const FIRST = 'data'
const UPGRADED = /^postgresql-(\d{2,3})$/

export const folderOfMajor = (major: number): string => `postgresql-${major}`

/** The number of a folder, by which the highest is the one in use. Undefined if it is not one of these folders. */
const rankOf = (name: string): number | undefined => (name === FIRST ? 0 : toNumber(UPGRADED.exec(name)?.[1]))
const toNumber = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))

/** Which of the names in a home is the data folder that is used, and which ones were used before. */
export function sortFolders(names: readonly string[]): {
  readonly current: string
  readonly earlier: readonly string[]
} {
  const folders = names.filter(name => rankOf(name) !== undefined).sort((a, b) => rankOf(b)! - rankOf(a)!)
  const [current = FIRST, ...earlier] = folders
  return { current, earlier }
}

/** The major version of PostgreSQL that made a data folder; undefined if there is no folder. */
export function readFolderMajor(pgData: string): number | undefined {
  const file = join(pgData, 'PG_VERSION')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : undefined
}

/** The major version of a release, such as 18 of `18.4.0-beta.17`. */
export const majorOf = (release: string): number => Number.parseInt(release, 10)

/** Throws a ConfigError if a data folder was made by a major version other than the programs'. */
export function requireMajor(dataDir: string, pgData: string, programs: number): void {
  const major = readFolderMajor(pgData)
  if (major === undefined || major === programs) return
  const what = `DATA_DIR ${dataDir} was made by PostgreSQL ${major}, and this spoor has PostgreSQL ${programs}`
  const advice = major < programs ? 'run `spoor upgrade`' : 'use a spoor that has that one'
  throw new ConfigError(`${what}: ${advice}`)
}
