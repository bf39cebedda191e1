/** Decides whether a data folder is upgraded to another PostgreSQL major version. */
import { AdminError } from '../../admin-error.ts'

export interface FoundInstallation {
  /** PostgreSQL major version that created the folder in use; undefined if there is no database yet. */
  readonly from: number | undefined
  /** Major version of the PostgreSQL programs that this version of spoor ships. */
  readonly to: number
  /** Size of the folder in use, in bytes. */
  readonly bytes: number
  /** Free bytes on the folder's disk. */
  readonly free: number
}

export interface Plan extends FoundInstallation {
  readonly from: number
  /** Number of free bytes that the upgrade requires. */
  readonly needed: number
}

/**
 * Space that a copy needs in addition to its rows: WAL (512 MiB, cluster-settings.ts), a new cluster's tables, and
 * index sorts.
 */
const BESIDE_BYTES = 1024 ** 3
/**
 * Maximum size of a copy, as a multiple of the original. A copy is rarely larger, because the original contains free
 * space, but the copy's index pages may split differently.
 */
const SHARE = 1.1

/** Returns the plan; undefined if there is nothing to do. Throws an AdminError if the upgrade is impossible. */
export function planUpgrade({ from, to, bytes, free }: FoundInstallation): Plan | undefined {
  if (from === undefined) throw new AdminError('there is no database here yet: `spoor serve` creates one')
  if (from === to) return undefined
  if (from > to) {
    throw new AdminError(
      `the database needs PostgreSQL ${from}, but this version of spoor has ${to}: use a version with ${from}`
    )
  }
  return { from, to, bytes, free, needed: Math.ceil(bytes * SHARE) + BESIDE_BYTES }
}

/** Throws an AdminError if the copy would not fit next to the original. */
export function requireRoom({ needed, free }: Plan): void {
  if (free >= needed) return
  const [need, have] = [needed, free].map(bytes => `${(bytes / 1e9).toFixed(1)} GB`)
  throw new AdminError(
    `the disk has ${have} free, but the upgrade may need ${need}, because the old folder is kept: free some space, ` +
      'or move the database with `spoor backup` and `spoor restore`'
  )
}
