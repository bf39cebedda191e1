/**
 * Sets the settings of a connection by its first statement, and not as part of its start: a pooler such as PgBouncer
 * refuses a connection that starts with settings that it does not know.
 */
import type { Sql } from 'postgres'
import { setPlanning } from '../spread.ts'

export interface SessionSettings {
  /** In ms; the server's own setting if it is undefined. */
  readonly statementTimeoutMs?: number
  /** Settings of PostgreSQL for this connection. The values are ours, not a client's. */
  readonly settings?: Readonly<Record<string, string>>
  /** Whether statements name only tables that are on this server itself. */
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
 * Opens the connection of an instance of the driver. Its settings hold for all later queries. Returns the first query.
 */
export function openSession(sql: Sql): ReturnType<Sql['unsafe']> {
  return sql.unsafe(statements.get(sql) || 'select')
}
