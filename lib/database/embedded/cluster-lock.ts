/**
 * Tracks the processes that use a running embedded cluster. A server and any number of commands can share the cluster,
 * regardless of which process started it, and the last process to leave stops the cluster. Each process holds a shared
 * advisory lock through its own connection. PostgreSQL releases the lock if the process dies. A process that obtains
 * the exclusive lock is the cluster's only user, and no other process can enter until that lock is released.
 */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../advisory-locks.ts'

/** Takes the shared lock. Waits while another process stops the cluster, and rejects once the cluster has stopped. */
export async function enter(sql: Sql): Promise<void> {
  await sql`select pg_advisory_lock_shared(${ADVISORY_LOCK.embeddedUsers})`
}

/** Returns whether only this process uses the cluster. If so, no other process can enter until this connection ends. */
export async function claimAlone(sql: Sql): Promise<boolean> {
  const [row] = await sql`select pg_try_advisory_lock(${ADVISORY_LOCK.embeddedUsers}) as alone`
  return row?.alone === true
}

export async function leave(sql: Sql): Promise<void> {
  await sql`select pg_advisory_unlock_shared(${ADVISORY_LOCK.embeddedUsers})`
}
