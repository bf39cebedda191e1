/**
 * Chooses the user that the embedded PostgreSQL runs as. PostgreSQL refuses to run as root, so a root process runs it
 * as another user, who must be able to reach the programs and the data. Any other process runs it as its own user.
 */
import { readFileSync, statSync } from 'node:fs'
import { lchown } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

export interface ClusterUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** In order of preference; every Unix has the second. */
const NAMES = ['postgres', 'nobody']
const MAY_EXECUTE = 0o1

export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** The user that PostgreSQL runs as if this process is root; undefined if it is not. */
export function findClusterUser(passwd: string = '/etc/passwd'): ClusterUser | undefined {
  if (!isRoot()) return undefined
  const users = readFileSync(passwd, 'utf8').split('\n').map(readUser)
  const user = NAMES.map(name => users.find(user => user.name === name && user.uid > 0)).find(
    user => user !== undefined
  )
  if (user === undefined) throw new Error(`PostgreSQL does not run as root, and there is no user ${NAMES.join(' or ')}`)
  return user
}

/** The options of child_process.spawn that run a process as this user. */
export function identityOf(user: ClusterUser | undefined): { uid?: number; gid?: number } {
  return user === undefined ? {} : { uid: user.uid, gid: user.gid }
}

/** Makes the cluster's user the owner of a folder that was just made; does nothing if that is our own user. */
export async function giveTo(user: ClusterUser | undefined, path: string): Promise<void> {
  if (user !== undefined) await lchown(path, user.uid, user.gid)
}

/** Whether `user` may pass through every folder on the way to `path`, and may enter or execute `path` itself. */
export function isReachable(path: string, user: ClusterUser | undefined): boolean {
  if (user === undefined) return true
  for (let place = resolve(path); ; place = dirname(place)) {
    const { mode, uid, gid } = statSync(place)
    const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
    if (((mode >> shift) & MAY_EXECUTE) === 0) return false
    if (place === dirname(place)) return true
  }
}

/** A line of /etc/passwd: `name:password:uid:gid:…`. */
function readUser(line: string): ClusterUser {
  const [name = '', , uid, gid] = line.split(':')
  return { name, uid: Number(uid), gid: Number(gid) }
}
