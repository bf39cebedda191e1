/**
 * PostgreSQL's data folders in the cluster's home. The first is `data`. A newer major version cannot open `data`, so an
 * upgrade (lib/moving/upgrade) creates another folder next to `data`, such as `postgresql-19`. The new name appears
 * only when the folder is complete. The folder with the highest version is in use; earlier folders stay unchanged until
 * an operator removes them. A name must not begin with `data-`, because earlier versions of spoor remove such folders
 * as drafts.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../variables.ts'

const FIRST = 'data'
const UPGRADED = /^postgresql-(\d{2,3})$/

export const folderOfMajor = (major: number): string => `postgresql-${major}`

/**
 * Returns the folder's rank, or undefined if the folder is not a data folder. The folder with the highest rank is in
 * use.
 */
const rankOf = (name: string): number | undefined => (name === FIRST ? 0 : toNumber(UPGRADED.exec(name)?.[1]))
const toNumber = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))

/** Splits the names in a home into the data folder in use and the earlier data folders. */
export function sortFolders(names: readonly string[]): {
  readonly current: string
  readonly earlier: readonly string[]
} {
  const folders = names.filter(name => rankOf(name) !== undefined).sort((a, b) => rankOf(b)! - rankOf(a)!)
  const [current = FIRST, ...earlier] = folders
  return { current, earlier }
}

/** Returns the major version of PostgreSQL that created a data folder; undefined if the folder does not exist. */
export function readFolderMajor(pgData: string): number | undefined {
  const file = join(pgData, 'PG_VERSION')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : undefined
}

/** Returns the major version of a release, such as 18 for `18.4.0-beta.17`. */
export const majorOf = (release: string): number => Number.parseInt(release, 10)

/** Throws a ConfigError if the data folder and the programs have different major versions. */
export function requireMajor(dataDir: string, pgData: string, programs: number): void {
  const major = readFolderMajor(pgData)
  if (major === undefined || major === programs) return
  const what = `DATA_DIR ${dataDir} was created by PostgreSQL ${major}, but this version of spoor has ${programs}`
  const advice = major < programs ? 'run `spoor upgrade`' : `use a version of spoor with PostgreSQL ${major}`
  throw new ConfigError(`${what}: ${advice}`)
}
