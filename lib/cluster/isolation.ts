/**
 * Implements `spoor project isolate`, which gives a very large project its own shard. The shard can then have its own
 * node.
 */
import type { Sql } from 'postgres'
import { isolateProject, readShard } from './shards.ts'

export interface Isolation {
  /** Id of the shard that holds the project's traces. */
  readonly shard: number
  /** Whether the project is alone in the shard. */
  readonly isAlone: boolean
  readonly applied: boolean
}

/**
 * Returns the project's shard; undefined on a single PostgreSQL. With `apply`, first gives the project its own shard,
 * while writes to the old shard wait.
 */
export async function isolate(sql: Sql, projectId: number, apply: boolean): Promise<Isolation | undefined> {
  const found = await readShard(sql, projectId)
  if (found === undefined) return undefined
  if (!apply || found.isAlone) return { ...found, applied: false }
  return { shard: await isolateProject(sql, projectId), isAlone: true, applied: true }
}
