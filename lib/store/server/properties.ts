/** Reads properties of the database: its id, its size, and the number of connections that it allows. */
import type { Sql } from 'postgres'
import { SQLSTATE } from '../../database/failure.ts'

/**
 * Returns the id of the deployment, a hash of PostgreSQL's system identifier and the database's OID: 16 hexadecimal
 * digits, or undefined if the role lacks the privilege to read that identifier. A standby has its primary's id. A
 * server reports this id. A command that looks for its server compares the reported id with the id of the command's own
 * database.
 */
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

/**
 * Returns the database's size on disk in bytes, including indexes. To compute the size, PostgreSQL checks every file.
 */
export async function measureDatabase(sql: Sql): Promise<number | undefined> {
  const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database()) as bytes`
  return row?.bytes
}

export interface ConnectionRoom {
  readonly most: number
  /** Description of what sets the limit. */
  readonly setBy: string
}

/**
 * Reads the lowest of the role's, the database's and the server's connection limits. -1 in a catalog means no limit.
 * Only the server's limit applies to superusers.
 */
export async function readConnectionRoom(sql: Sql): Promise<ConnectionRoom> {
  const [row] = await sql<[ConnectionRoom]>`
    with own as (
      select rolsuper as super, rolconnlimit as role_most from pg_roles where rolname = current_user
    ), limits (most, set_by) as (
      select role_most, 'The role in DATABASE_URL' from own where role_most >= 0 and not super
      union all
      select datconnlimit, 'The database' from pg_database, own
      where datname = current_database() and datconnlimit >= 0 and not super
      union all
      select current_setting('max_connections')::int
        - case when super then 0 else current_setting('superuser_reserved_connections')::int end
        - case when super then 0 else coalesce(current_setting('reserved_connections', true)::int, 0) end,
        'PostgreSQL (max_connections)' from own
    )
    select most, set_by as "setBy" from limits order by most limit 1`
  return row
}
