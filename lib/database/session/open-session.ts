/**
 * Applies a connection's settings in its first statement instead of at startup, because poolers such as PgBouncer
 * reject unknown startup settings.
 */
import type { Sql } from 'postgres'
import { setPlanning } from '../spread.ts'

export interface SessionSettings {
  /** Statement time-out in milliseconds. If undefined, the server's own setting applies. */
  readonly statementTimeoutMs?: number
  /** PostgreSQL settings for this connection. The values must come from the code, never from a client. */
  readonly settings?: Readonly<Record<string, string>>
  /** Whether statements name only tables on this server. */
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

/** Opens a driver instance's connection with a query that applies the connection's settings. Returns that query. */
export function openSession(sql: Sql): ReturnType<Sql['unsafe']> {
  return sql.unsafe(statements.get(sql) || 'select')
}
