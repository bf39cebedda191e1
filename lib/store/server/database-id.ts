/**
 * Reads the id of a deployment: a hash of PostgreSQL's system identifier and the database's OID. A server reports this
 * id, so that a command looking for its server can compare it with the id of its own database.
 */
import type { Sql } from 'postgres'
import { SQLSTATE } from '../../database/failure.ts'

/** Returns 16 hexadecimal digits; undefined if the role lacks the privilege. A standby has its primary's id. */
export async function readDatabaseId(sql: Sql): Promise<string | undefined> {
  try {
    const [row] = await sql<[{ instance: string }]>`
      select left(encode(sha256(convert_to(c.system_identifier || '/' || d.oid, 'UTF8')), 'hex'), 16) as instance
      from pg_control_system() c, pg_database d where d.datname = current_database()`
    return row.instance
  } catch (error) {
    if ((error as { code?: unknown }).code === SQLSTATE.insufficientPrivilege) return undefined
    throw error
  }
}
