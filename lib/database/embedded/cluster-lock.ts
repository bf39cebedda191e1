/**
 * Tells who uses a running embedded cluster. A server and any number of commands may use it at the same time,
 * whichever of them started it, and the last one to leave stops it. Each user holds a shared advisory lock on a
 * connection of its own. PostgreSQL takes the lock back from a process that dies. A process that gets the same lock
 * exclusively is alone, and nobody can enter while it holds the lock.
 */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../advisory-locks.ts'

/** Takes the shared lock. Waits while somebody is stopping the cluster, and rejects when it has stopped. */
export async function enter(sql: Sql): Promise<void> {
  await sql`select pg_advisory_lock_shared(${ADVISORY_LOCK.embeddedUsers})`
}

/** Whether nobody else uses the cluster. If so, nobody can enter until this connection ends. */
export async function claimAlone(sql: Sql): Promise<boolean> {
  const [row] = await sql`select pg_try_advisory_lock(${ADVISORY_LOCK.embeddedUsers}) as alone`
  return row?.alone === true
}

export async function leave(sql: Sql): Promise<void> {
  await sql`select pg_advisory_unlock_shared(${ADVISORY_LOCK.embeddedUsers})`
}
