/**
 * Serializes changes to memberships, and to members' links and passwords. Statements read memberships to ensure that no
 * owner gains access to another owner's account. A statement does not see rows committed after the statement began, so
 * a separate statement takes the lock first.
 */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../../database/advisory-locks.ts'

export async function inTurn<T>(sql: Sql, work: () => Promise<T>): Promise<T> {
  await sql`select pg_advisory_lock(${ADVISORY_LOCK.people})`
  try {
    return await work()
  } finally {
    // A lost connection has already released the lock, and the work's own error is more specific.
    await sql`select pg_advisory_unlock(${ADVISORY_LOCK.people})`.catch(() => {})
  }
}
