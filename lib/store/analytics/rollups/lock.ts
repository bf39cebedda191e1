/**
 * Locks a project's rollups. Every transaction that changes rollups takes this lock, so that only one such transaction
 * runs at a time, across all processes.
 */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../../../database/advisory-locks.ts'

/** Waits for the lock on a project's rollups and holds it until the transaction ends. */
export async function lockRollups(sql: Sql, projectId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.rollups}, ${projectId})`
}

/** Tries to take the lock without waiting. Returns whether the lock was taken. */
export async function tryLockRollups(sql: Sql, projectId: number): Promise<boolean> {
  const [row] = await sql<
    [{ locked: boolean }]
  >`select pg_try_advisory_xact_lock(${ADVISORY_LOCK.rollups}, ${projectId}) as locked`
  return row.locked
}
