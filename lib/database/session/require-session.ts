/**
 * Rejects poolers that assign connections per transaction, such as PgBouncer in `transaction` mode. With such a pooler,
 * clients would share settings, prepared statements, locks and notices, and writes would fail for no visible reason.
 */
import type { Sql } from 'postgres'
import { ConfigError } from '../../variables.ts'
import { classifyFailure } from '../failure.ts'
import type { Pool } from '../pool.ts'
import { pidOf } from '../pooled/hung-connection.ts'

const LENT_OUT =
  'DATABASE_URL points to a pooler that assigns connections per transaction or statement (like PgBouncer in ' +
  '`transaction` or `statement` mode): set pool_mode = session, or connect directly to PostgreSQL'

/** Number of times to check that a connection keeps its backend, because a pooler may alternate between backends. */
const LOOKS = 3

/** Throws a ConfigError if `sql` does not keep one session throughout its lifetime. `other` is another connection. */
export async function requireSession(sql: Sql, other: Pool): Promise<void> {
  const { pid, isDirect } = await readBackend(sql)
  if (isDirect) return
  // While the other connection is in a transaction, no other client can use that connection's backend.
  const shares = await other.run(async between => {
    if (!(await begins(between))) return true
    try {
      const seen = [(await readBackend(between)).pid]
      if (seen[0] === pid) return true
      return await changes(sql, pid)
    } finally {
      await between.unsafe('rollback')
    }
  })
  if (shares || (await changes(sql, pid))) throw new ConfigError(LENT_OUT)
}

/**
 * Returns the backend's process id, and whether the driver reports the same id. A pooler reports a different id to its
 * clients.
 */
async function readBackend(sql: Sql): Promise<{ pid: number; isDirect: boolean }> {
  // The query is not prepared, because its next execution may reach a backend that does not know the prepared
  // statement.
  const query = sql.unsafe<[{ pid: number }]>('select pg_backend_pid() as pid')
  const [{ pid }] = await query
  return { pid, isDirect: pid === pidOf(query) }
}

async function changes(sql: Sql, pid: number): Promise<boolean> {
  for (let look = 0; look < LOOKS; look++) if ((await readBackend(sql)).pid !== pid) return true
  return false
}

/**
 * Returns whether a transaction can begin. In `statement` mode, PgBouncer closes the connection instead, and other
 * poolers return an error.
 */
async function begins(sql: Sql): Promise<boolean> {
  try {
    await sql.unsafe('begin')
    return true
  } catch (error) {
    if (classifyFailure(error) !== 'lost') throw error
    return false
  }
}
