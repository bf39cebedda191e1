/** Decides whether a data folder is upgraded to another major version of PostgreSQL, from what was found. */
import { AdminError } from '../../admin-error.ts'

export interface FoundInstallation {
  /** The major version that made the folder in use; undefined if there is no database yet. */
  readonly from: number | undefined
  /** That of the programs of this spoor. */
  readonly to: number
  /** The bytes of the folder in use. */
  readonly bytes: number
  /** The free bytes of its disk. */
  readonly free: number
}

export interface Plan {
  readonly from: number
  readonly to: number
  readonly bytes: number
  readonly free: number
  /** The bytes that must be free. */
  readonly needed: number
}

/**
 * A copy needs this space besides the rows: for PostgreSQL's log (512 MiB, cluster-settings.ts), the tables that every
 * new cluster has, and the sorting of indexes.
 */
const BESIDE_BYTES = 1024 ** 3
/** The copy is seldom larger than the original, whose tables have room to reuse; indexes may be cut otherwise. */
const SHARE = 1.1

/** Undefined if there is nothing to do. Throws an AdminError if the upgrade is impossible. */
export function planUpgrade({ from, to, bytes, free }: FoundInstallation): Plan | undefined {
  if (from === undefined) throw new AdminError('there is no database here yet: `spoor serve` makes one')
  if (from === to) return undefined
  if (from > to) {
    throw new AdminError(
      `the database is of PostgreSQL ${from}, and this spoor has ${to}: use a spoor that has that one`
    )
  }
  return { from, to, bytes, free, needed: Math.ceil(bytes * SHARE) + BESIDE_BYTES }
}

/** Throws an AdminError if the copy would not fit beside the original. */
export function requireRoom({ needed, free }: Plan): void {
  if (free >= needed) return
  const [need, have] = [needed, free].map(bytes => `${(bytes / 1e9).toFixed(1)} GB`)
  throw new AdminError(
    `the disk has ${have} free, and the upgrade may need ${need}, because the old folder stays: make room, or move the ` +
      'database with `spoor backup` and `spoor restore`'
  )
}
