/** Reads the facts about a PostgreSQL server, its settings and spoor's role that `spoor doctor` checks. */
import type { Sql } from 'postgres'
import { carelessSettings } from './upkeep.ts'

export interface ServerFacts {
  readonly version: string
  /** The version as a number, such as 150018. */
  readonly versionNumber: number
  readonly encoding: string
  readonly isStandby: boolean
  readonly role: string
  readonly isSuperuser: boolean
  readonly schema: string | null
  /** Whether the role may create tables in the schema, which only migrations need. */
  readonly mayCreate: boolean
  /** Tables of spoor to which the role lacks the rights to read and write. */
  readonly deniedTables: readonly string[]
  /** Whether this connection uses TLS. */
  readonly isEncrypted: boolean
  /** Whether the connection uses a Unix socket or a loopback address. */
  readonly isLocal: boolean
  /** The server's clock, in milliseconds since 1970. */
  readonly clockMs: number
  /** Age of the oldest transaction id in use. */
  readonly transactionAge: number
  /** Settings by name, in bytes or milliseconds if they have a unit. */
  readonly settings: Readonly<Record<string, number>>
  readonly careless: readonly string[]
}

const NUMBERS = [
  'shared_buffers',
  'max_wal_size',
  'statement_timeout',
  'idle_session_timeout',
  'idle_in_transaction_session_timeout',
  'transaction_timeout'
]

export async function readServerFacts(sql: Sql, tables: readonly string[]): Promise<ServerFacts> {
  const [row] = await sql<[Omit<ServerFacts, 'settings'>]>`
    select current_setting('server_version') as version, current_setting('server_version_num')::int as "versionNumber",
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as "isStandby", current_user::text as role,
      (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser", current_schema()::text as schema,
      coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayCreate",
      array(
        select c.relname::text from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relname = any (${tables as string[]}::text[])
          and c.relkind in ('r', 'p') and not (has_table_privilege(c.oid, 'select')
            and has_table_privilege(c.oid, 'insert')
            and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete'))
        order by 1
      ) as "deniedTables",
      coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as "isEncrypted",
      (inet_server_addr() is null or inet_server_addr() <<= '127.0.0.0/8' or inet_server_addr() = '::1') as "isLocal",
      (extract(epoch from clock_timestamp()) * 1000)::float8 as "clockMs",
      (select age(datfrozenxid) from pg_database where datname = current_database()) as "transactionAge",
      ${carelessSettings(sql)} as careless`
  const numbers = await sql<{ name: string; value: number }[]>`
    select name, setting::float8 * case unit when 'kB' then 1024 when '8kB' then 8192 when 'MB' then 1048576
      when 's' then 1000 when 'min' then 60000 else 1 end as value
    from pg_settings where name = any (${NUMBERS}::text[])`
  return { ...row, settings: Object.fromEntries(numbers.map(({ name, value }) => [name, value])) }
}
