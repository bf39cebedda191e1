/** Decides whether a data folder is upgraded to another major version of PostgreSQL, from what was found. */
import { AdminError } from '../../admin-error.ts'

export interface Found {
  /** The major version that made the folder in use; undefined if there is no database yet. */
  readonly from: number | undefined
  /** That of the programs of this spoor. */
  readonly to: number
  /** What the folder in use takes. */
  readonly bytes: number
  /** What may still be written beside it. */
  readonly free: number
}

export interface Plan {
  readonly from: number
  readonly to: number
  readonly bytes: number
  readonly free: number
  /** What must be free. */
  readonly needed: number
}

/**
 * What a copy needs beside the rows: PostgreSQL's log (512 MiB, cluster-settings.ts), the tables that every new cluster has,
 * and what is sorted while indexes grow.
 */
const BESIDE_BYTES = 1024 ** 3
/** The copy is seldom larger than the original, whose tables have room to reuse; indexes may be cut otherwise. */
const SHARE = 1.1

/** Undefined if there is nothing to do. Throws an AdminError where it cannot be done. */
export function planUpgrade({ from, to, bytes, free }: Found): Plan | undefined {
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
