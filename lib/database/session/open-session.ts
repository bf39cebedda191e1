/**
 * Sets the settings of a connection by its first statement, and not as part of its start: a pooler such as PgBouncer
 * refuses a connection that starts with settings that it does not know.
 */
import type { Sql } from 'postgres'

export interface SessionSettings {
  /** In ms; the server's own setting if it is undefined. */
  readonly statementTimeoutMs?: number
  /** Settings of PostgreSQL for this connection. The values are ours, not a client's. */
  readonly settings?: Readonly<Record<string, string>>
  /** Whether statements name tables on this very server, even if it is a node of a cluster. */
  readonly isLocal?: boolean
}

const statements = new WeakMap<Sql, string>()

export function setSession(sql: Sql, { statementTimeoutMs, settings, isLocal = false }: SessionSettings): void {
  const all = {
    ...settings,
    ...(statementTimeoutMs !== undefined && { statement_timeout: String(statementTimeoutMs) })
  }
  statements.set(
    sql,
    Object.entries(all)
      .map(([name, value]) =>
        name === 'plan_cache_mode' && !isLocal ? setPlanning(value) : `set ${name} = '${value}'`
      )
      .join('; ')
  )
}

/**
 * Citus chooses the node by the values of a statement. So there a plan for all values is made only if it costs no more,
 * which Citus knows (`auto`).
 */
const setPlanning = (mode: string): string => `select set_config('plan_cache_mode',
  case when to_regclass('pg_catalog.pg_dist_partition') is null then '${mode}' else 'auto' end, false)`

/**
 * Opens the connection of an instance of the driver. Its settings hold for all later queries. Returns the first query.
 */
export function openSession(sql: Sql): ReturnType<Sql['unsafe']> {
  return sql.unsafe(statements.get(sql) || 'select')
}
