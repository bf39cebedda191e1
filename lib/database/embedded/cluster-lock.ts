/**
 * Who uses a running embedded cluster. A server and any number of commands may, each for its own time, whoever started
 * it: the last one to leave stops it. Each holds a shared advisory lock on a connection of its own, which PostgreSQL
 * takes back from whoever dies; who gets the same lock exclusively is alone, and nobody comes in while he holds it.
 */
import type { Sql } from 'postgres'

/** Any number that nobody else uses for an advisory lock in this database. */
const PRESENCE_LOCK = 5_700_101

/** Waits while somebody stops the cluster, and rejects when it has gone. */
export async function enter(sql: Sql): Promise<void> {
  await sql`select pg_advisory_lock_shared(${PRESENCE_LOCK})`
}

/** Whether nobody else is there: then nobody enters until the connection ends. */
export async function claimAlone(sql: Sql): Promise<boolean> {
  const [row] = await sql`select pg_try_advisory_lock(${PRESENCE_LOCK}) as alone`
  return row?.alone === true
}

export async function leave(sql: Sql): Promise<void> {
  await sql`select pg_advisory_unlock_shared(${PRESENCE_LOCK})`
}
