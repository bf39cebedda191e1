/**
 * The work of `spoor project isolate`: gives a very large project a shard of its own, which can then have a node of
 * its own.
 */
import type { Sql } from 'postgres'
import { isolateProject, readShard } from './shards.ts'

export interface Isolation {
  /** The number of the shard of its traces. */
  readonly shard: number
  /** Whether the project has the shard for itself. */
  readonly isAlone: boolean
  readonly applied: boolean
}

/**
 * Says which shard a project is in; with `apply` it gets a shard of its own. Meanwhile writes to its old shard wait.
 * Undefined on one PostgreSQL.
 */
export async function isolate(sql: Sql, projectId: number, apply: boolean): Promise<Isolation | undefined> {
  const found = await readShard(sql, projectId)
  if (found === undefined) return undefined
  if (!apply || found.isAlone) return { ...found, applied: false }
  return { shard: await isolateProject(sql, projectId), isAlone: true, applied: true }
}
