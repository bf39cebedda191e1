/** Reads the number of connections that PostgreSQL allows the current user. */
import type { Sql } from 'postgres'

export interface ConnectionRoom {
  readonly most: number
  /** Human-readable source of the limit. */
  readonly setBy: string
}

/**
 * Reads the lowest limit of role, database and server. -1 in a catalog means no limit. Only the server limits
 * superusers.
 */
export async function readConnectionRoom(sql: Sql): Promise<ConnectionRoom> {
  const [row] = await sql<[ConnectionRoom]>`
    with own as (
      select rolsuper as super, rolconnlimit as role_most from pg_roles where rolname = current_user
    ), limits (most, set_by) as (
      select role_most, 'The role of DATABASE_URL' from own where role_most >= 0 and not super
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
