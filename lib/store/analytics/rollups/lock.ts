/** Who changes the rollups of a project has a lock of it, so it is one at a time, in whichever process. */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../../../database/advisory-locks.ts'

/** Waits for the lock of a project's rollups, and has it until the transaction ends. */
export async function lockRollups(sql: Sql, projectId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.rollups}, ${projectId})`
}

/** Takes the lock, unless somebody has it. */
export async function tryLockRollups(sql: Sql, projectId: number): Promise<boolean> {
  const [row] = await sql<
    [{ locked: boolean }]
  >`select pg_try_advisory_xact_lock(${ADVISORY_LOCK.rollups}, ${projectId}) as locked`
  return row.locked
}
