/** Folders and files of the embedded database, and whom they belong to. */
import { chown } from 'node:fs/promises'
import type { ClusterUser } from './cluster-user.ts'

/** Makes a file or folder the cluster user's, where that is not ourselves. */
export async function giveTo(user: ClusterUser | undefined, path: string): Promise<void> {
  if (user !== undefined) await chown(path, user.uid, user.gid)
}
