/** Locates the PostgreSQL programs that npm installed, and makes them accessible to the cluster's user. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, rename, rm, stat, symlink } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'
import type { Logger } from '../../log.ts'
import { ConfigError } from '../../variables.ts'
import { majorOf } from './cluster-folders.ts'
import { type ClusterUser, isReachable } from './cluster-user.ts'
import { programsPackage } from './releases.ts'

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  readonly major: number
  /** Library folders, as `folder:folder`, if links to libraries could not be created next to the programs. */
  readonly libraries?: string
}

export interface BinaryFolders {
  /** The folder of a package to use instead of the installed package. */
  readonly package?: string
  /** A folder for links that cannot be created in the package. The folder is created when needed. */
  readonly links?: string
}

/** Folder in which a root process stores files that the cluster's user could not reach elsewhere. */
export const REACHABLE_FOLDER = '/var/lib/spoor'

/**
 * Finds initdb and postgres in the installed package or in `places.package`. If `user` cannot reach these programs,
 * copies the programs once to a folder that `user` can reach.
 */
export async function findBinaries(
  user: ClusterUser | undefined,
  log: Logger,
  places: BinaryFolders = {}
): Promise<Binaries> {
  const installed = places.package ?? (await findPackage())
  const isLinked = linkLibraries(installed)
  if (!isReachable(binariesIn(installed).postgres, user)) return binariesIn(await copyPackage(installed, log))
  if (isLinked || places.links === undefined) return binariesIn(installed)
  await makeLinks(installed, places.links)
  // The linked libraries load other libraries from the folder of the links.
  return { ...binariesIn(installed), libraries: [places.links, join(installed, 'native/lib')].join(delimiter) }
}

function binariesIn(folder: string): Binaries {
  return {
    initdb: join(folder, 'native/bin/initdb'),
    postgres: join(folder, 'native/bin/postgres'),
    major: majorOf(readRelease(folder))
  }
}

export function readRelease(folder: string): string {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version
}

async function findPackage(): Promise<string> {
  try {
    const { postgres }: { postgres: string } = await import(programsPackage())
    return realpathSync(join(dirname(postgres), '../..'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new ConfigError(`${programsPackage()} is not installed, so there is no embedded PostgreSQL: set DATABASE_URL`)
  }
}

interface Link {
  readonly source: string
  readonly target: string
}

/**
 * Creates the library links that the package's install script would create; npm skips the script by default. Returns
 * false if missing links could not be created, for example because the programs belong to another user or the file
 * system is read-only.
 */
function linkLibraries(folder: string): boolean {
  const isLinked = () => readLinks(folder).every(link => existsSync(join(folder, link.target)))
  if (isLinked()) return true
  spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: folder, stdio: 'ignore' })
  return isLinked()
}

function readLinks(folder: string): readonly Link[] {
  const list = join(folder, 'native/pg-symlinks.json')
  return existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
}

/** Recreates the links, because the package may have moved or changed. */
async function makeLinks(folder: string, links: string): Promise<void> {
  await rm(links, { recursive: true, force: true })
  await mkdir(links)
  for (const { source, target } of readLinks(folder)) await symlink(join(folder, source), join(links, basename(target)))
}

async function copyPackage(folder: string, log: Logger): Promise<string> {
  const copy = join(REACHABLE_FOLDER, `postgresql-${readRelease(folder)}`)
  if (existsSync(copy)) return copy
  log.info({ folder: copy }, 'copying the PostgreSQL programs to a folder that the PostgreSQL user can reach')
  await makeReachableFolder()
  // The copy has a temporary name until it is complete.
  const draft = `${copy}-${process.pid}`
  await cp(folder, draft, { recursive: true, verbatimSymlinks: true })
  linkLibraries(draft)
  await openToAll(draft)
  await rename(draft, copy).catch(async error => {
    await rm(draft, { recursive: true })
    if (!existsSync(copy)) throw error
  })
  return copy
}

/** Creates REACHABLE_FOLDER with the same mode regardless of the umask. */
export async function makeReachableFolder(): Promise<void> {
  await mkdir(REACHABLE_FOLDER, { recursive: true })
  await chmod(REACHABLE_FOLDER, 0o755)
}

/** Lets every user read all files, and execute the files that the owner may execute. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const path = join(entry.parentPath ?? entry.path, entry.name)
    const executable = ((await stat(path)).mode & 0o100) !== 0
    await chmod(path, executable ? 0o755 : 0o644)
  }
}
