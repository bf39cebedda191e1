/**
 * Detects servers of versions before 1.0.0 that are connected to the database. Such servers read and write traces of
 * more than 200 spans differently, so no other server may run alongside them. Servers of later versions can run
 * alongside each other.
 */
import type { Sql } from 'postgres'

/** Describes the servers to stop; undefined if there are none. Detects only servers that connect with the same role. */
export async function findOldServers(sql: Sql): Promise<string | undefined> {
  const rows = await sql<{ process: string; host: string }[]>`
    select distinct substring(application_name, '[0-9]+') as process,
      coalesce(host(client_addr), 'this host') as host
    from pg_stat_activity
    where datname = current_database() and application_name ~ '^spoor\\[[0-9]+\\]' and pid <> pg_backend_pid()
    order by host, process`
  if (rows.length === 0) return undefined
  const which = rows.map(({ process, host }) => `process ${process} on ${host}`).join(', ')
  return `a version of spoor before 1.0.0 is connected to the database and must be stopped first: ${which}`
}
