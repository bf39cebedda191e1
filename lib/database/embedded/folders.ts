/**
 * The files of the embedded database. The data folder (DATA_DIR) contains:
 *
 *     spoor.pid           the server that holds the folder
 *     database-password   } created once, readable only by their owner
 *     key-digest-secret   }
 *     postgres/           the cluster's home, the only part that belongs to the user that runs PostgreSQL
 *       data/             PostgreSQL's data folder, or another folder after an upgrade (cluster-folders.ts)
 *       libraries/        links to PostgreSQL's libraries, if they cannot be created in its package
 *       .s.PGSQL.5432     the socket, if its path is short enough
 *
 * The data folder's mode is 0700. PostgreSQL does not run as root, so a root process runs PostgreSQL as another user,
 * who must be able to traverse the data folder because PostgreSQL uses absolute paths. The folder then has mode 0710
 * and that user's group. Root keeps ownership of the folder, because another owner could replace root's files. The user
 * can neither list nor change the folder, and can read only the home. If the user cannot reach the folder, `postgres`
 * links to a home elsewhere.
 */
import { createHash } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, open, readdir, realpath, rmdir, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Logger } from '../../log.ts'
import { ConfigError } from '../../variables.ts'
import { makeReachableFolder, REACHABLE_FOLDER } from './binaries.ts'
import { sortFolders } from './cluster-folders.ts'
import { type ClusterUser, findClusterUser, giveTo, isReachable, isRoot } from './cluster-user.ts'
import { SOCKET_NAME } from './postmaster.ts'

export interface DataHome {
  /** The real path, with links resolved. */
  readonly folder: string
  /** PostgreSQL's data folder in the home. The data folder does not necessarily exist yet. */
  readonly pgData: string
  /** The user that runs PostgreSQL; undefined if that is this process's own user. */
  readonly user: ClusterUser | undefined
}

/** Name of the folder in the cluster's home for links to libraries (findBinaries). */
export const LIBRARIES = 'libraries'

/** Maximum length of a Unix socket's path in bytes (sun_path, without the closing NUL). */
const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103

/** Names of spoor's files in a data folder. While a file is being created, its name has a hexadecimal suffix. */
const OWN_NAMES =
  /^(?:postgres|users|programs|(?:spoor|starting)\.pid|server\.json|database-password|key-digest-secret)(?:-[\da-f-]+)?$/

/**
 * Creates the data folder and its parents. Only the owner may read the folder; if root owns the folder, the group of
 * the cluster's user may traverse the folder. Restores the owner, group and mode, because earlier versions gave the
 * folder to the cluster's user or let every user traverse the folder.
 */
export async function prepareDataFolder(dataDir: string): Promise<void> {
  await mkdir(dirname(dataDir), { recursive: true })
  await mkdir(dataDir, { mode: 0o700 }).catch(ignoreExisting)
  const names = await readdir(dataDir)
  // A folder that contains other files keeps its mode; the secrets in it have their own modes.
  if (!names.every(name => OWN_NAMES.test(name))) return
  // The changes are made through a handle to the opened folder, so that no other process can replace the folder between
  // the changes.
  const folder = await open(await realpath(dataDir), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    const { uid, gid, mode } = await folder.stat()
    const isRoots = isRoot() && (uid === 0 || uid === findClusterUser()?.uid)
    if (isRoots) {
      const group = await groupOf(join(dataDir, 'postgres'))
      if (uid !== 0 || gid !== group) await folder.chown(0, group)
    }
    const own = isRoots ? 0o710 : 0o700
    if ((mode & 0o777) !== own) await folder.chmod(own)
  } finally {
    await folder.close()
  }
}

/** Finds the cluster's home in the data folder, or creates a home. */
export async function prepareHome(dataDir: string, log: Logger): Promise<DataHome> {
  const path = join(dataDir, 'postgres')
  const user = findClusterUser()
  if (!existsSync(path)) await makeHome(path, user, log)
  await checkLink(path)
  const folder = await realpath(path)
  const { current } = sortFolders(await readdir(folder))
  const home = { folder, pgData: join(folder, current), user: isRoot() ? await ownerOf(folder) : undefined }
  if (!isReachable(folder, home.user)) {
    throw new ConfigError(`DATA_DIR: user ${home.user?.name}, who owns ${folder}, must be able to reach it`)
  }
  return home
}

/**
 * Finds or creates the socket's folder: the home or, if the home's path is too long, a private folder in the temporary
 * folder, named after a hash of that path.
 */
export async function prepareSocketFolder({ folder, user }: Pick<DataHome, 'folder' | 'user'>): Promise<string> {
  if (isShortEnough(folder)) return folder
  const name = `spoor-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  const parent = [tmpdir(), '/tmp'].find(parent => isShortEnough(join(parent, name)) && isReachable(parent, user))
  if (parent === undefined) throw new ConfigError('DATA_DIR and TMPDIR are too long for a socket path')
  const socketDir = join(parent, name)
  await mkdir(socketDir, { mode: 0o700 }).then(() => giveTo(user, socketDir), ignoreExisting)
  // Any user may create folders in the temporary folder, so this folder may belong to another user.
  const { uid, mode } = await lstat(socketDir)
  if (uid !== (user?.uid ?? process.getuid?.()) || (mode & 0o170777) !== 0o040700) {
    throw new ConfigError(
      `${socketDir} must be a folder owned by the database user, with mode 0700: remove it, or set TMPDIR`
    )
  }
  return socketDir
}

async function makeHome(path: string, user: ClusterUser | undefined, log: Logger): Promise<void> {
  if (isReachable(dirname(path), user)) {
    await mkdir(path, { mode: 0o700 }).then(() => giveTo(user, path), ignoreExisting)
    return
  }
  await makeReachableFolder()
  const folder = await mkdtemp(join(REACHABLE_FOLDER, `${basename(dirname(path))}-`))
  await giveTo(user, folder)
  try {
    await symlink(folder, path)
    log.info({ folder, user: user?.name }, 'the database is kept here, because its user cannot reach the data folder')
  } catch (error) {
    await rmdir(folder)
    ignoreExisting(error as NodeJS.ErrnoException)
  }
}

/** When running as root, follows a link only if root or the owner of the link's folder created it. */
async function checkLink(path: string): Promise<void> {
  const link = await lstat(path)
  if (!isRoot() || !link.isSymbolicLink() || link.uid === 0 || link.uid === (await stat(dirname(path))).uid) return
  throw new ConfigError(
    `DATA_DIR: ${path} is a link that neither root nor its folder's owner created: remove the link, or use a folder`
  )
}

/**
 * Returns the group of the user that runs PostgreSQL. If the data folder contains an ordinary user's home, this is the
 * home's group.
 */
async function groupOf(home: string): Promise<number> {
  const user = findClusterUser()!
  const stats = existsSync(home) ? await lstat(home) : undefined
  return stats?.isDirectory() && stats.uid !== 0 && stats.uid !== user.uid ? stats.gid : user.gid
}

/** Returns the user that owns a home. An ordinary user's cluster keeps its owner even if root opens it. */
async function ownerOf(folder: string): Promise<ClusterUser> {
  const { uid, gid } = await stat(folder)
  if (uid === 0) {
    throw new ConfigError(`DATA_DIR: ${folder} belongs to root, but PostgreSQL cannot run as root: remove the folder`)
  }
  const user = findClusterUser()
  return user?.uid === uid ? user : { name: String(uid), uid, gid }
}

function isShortEnough(folder: string): boolean {
  return Buffer.byteLength(join(folder, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
