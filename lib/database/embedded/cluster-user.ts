/**
 * Chooses the user that runs the embedded PostgreSQL. PostgreSQL does not run as root, so a root process selects
 * another user, who must be able to reach the programs and the data. Any other process uses its own user.
 */
import { readFileSync, statSync } from 'node:fs'
import { lchown } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

export interface ClusterUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** User names in order of preference; every Unix has `nobody`. */
const NAMES = ['postgres', 'nobody']
const MAY_EXECUTE = 0o1

export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Returns the user that runs PostgreSQL if this process is root; undefined otherwise. */
export function findClusterUser(passwd: string = '/etc/passwd'): ClusterUser | undefined {
  if (!isRoot()) return undefined
  const users = readFileSync(passwd, 'utf8').split('\n').map(readUser)
  const [user] = NAMES.flatMap(name => users.find(user => user.name === name && user.uid > 0) ?? [])
  if (user === undefined) throw new Error(`PostgreSQL cannot run as root, and there is no user ${NAMES.join(' or ')}`)
  return user
}

/** Returns the child_process.spawn options that run a process as this user. */
export function identityOf(user: ClusterUser | undefined): { uid?: number; gid?: number } {
  return user === undefined ? {} : { uid: user.uid, gid: user.gid }
}

/** Makes the cluster's user the owner of a new folder. Does nothing if `user` is undefined. */
export async function giveTo(user: ClusterUser | undefined, path: string): Promise<void> {
  if (user !== undefined) await lchown(path, user.uid, user.gid)
}

/** Returns whether `user` may traverse every folder on the way to `path`, and may enter or execute `path` itself. */
export function isReachable(path: string, user: ClusterUser | undefined): boolean {
  if (user === undefined) return true
  for (let place = resolve(path); ; place = dirname(place)) {
    const { mode, uid, gid } = statSync(place)
    const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
    if (((mode >> shift) & MAY_EXECUTE) === 0) return false
    if (place === dirname(place)) return true
  }
}

/** Parses a line of /etc/passwd: `name:password:uid:gid:…`. */
function readUser(line: string): ClusterUser {
  const [name = '', , uid, gid] = line.split(':')
  return { name, uid: Number(uid), gid: Number(gid) }
}
