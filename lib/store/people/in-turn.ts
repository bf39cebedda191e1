/**
 * Lets changes of who belongs to which account, and links and passwords of those people, go one after the other. An owner
 * gets no way into accounts of others: that rests on what a statement finds of somebody's memberships, and a statement does
 * not see what was committed after it began. So the lock is taken before, in a statement of its own.
 */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../../database/advisory-locks.ts'

export async function inTurn<T>(sql: Sql, work: () => Promise<T>): Promise<T> {
  await sql`select pg_advisory_lock(${ADVISORY_LOCK.people})`
  try {
    return await work()
  } finally {
    // A connection that is lost has lost the lock as well, and the error of the work says more.
    await sql`select pg_advisory_unlock(${ADVISORY_LOCK.people})`.catch(() => {})
  }
}
