/**
 * The work of `spoor project isolate`: gives a very large project a shard of its own, which can then have a node of its
 * own.
 */
import type { Sql } from 'postgres'
import { isolateProject, readShard } from '../../store/server/shards.ts'
import { AdminError } from '../admin-error.ts'
import { requireProject } from '../projects.ts'

export interface Isolation {
  readonly project: string
  /** The number of the shard of its traces. */
  readonly shard: number
  /** Whether the project has the shard for itself. */
  readonly isAlone: boolean
  readonly applied: boolean
}

/**
 * The shard of the project. With `apply`, moves the project to a shard of its own; meanwhile writes to its old shard
 * wait.
 */
export async function isolate(sql: Sql, project: string, apply: boolean): Promise<Isolation> {
  const projectId = await requireProject(sql, project)
  const found = await readShard(sql, projectId)
  if (found === undefined) {
    throw new AdminError(
      'the tables of traces are not distributed: there are no shards (see `spoor migrate --distributed`)'
    )
  }
  if (!apply || found.isAlone) return { project, ...found, applied: false }
  return { project, shard: await isolateProject(sql, projectId), isAlone: true, applied: true }
}
