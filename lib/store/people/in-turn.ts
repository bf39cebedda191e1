/**
 * Runs changes of memberships, and of the members' links and passwords, one after another. The rule that an owner gets
 * no access to accounts of others depends on memberships that a statement reads, and a statement does not see rows that
 * were committed after it began. So the lock is taken before, in a statement of its own.
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
