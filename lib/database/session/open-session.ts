/**
 * The settings of a connection are its first statement, and not part of its start: what stands between (PgBouncer) lets
 * nobody in who starts with settings that it does not know.
 */
import type { Sql } from 'postgres'

export interface SessionSettings {
  /** Milliseconds; undefined: the server's own. */
  readonly statementTimeoutMs?: number
  /** Settings of PostgreSQL for this connection. The values are ours, not a client's. */
  readonly settings?: Readonly<Record<string, string>>
}

const statements = new WeakMap<Sql, string>()

export function setSession(sql: Sql, { statementTimeoutMs, settings }: SessionSettings): void {
  const all = {
    ...settings,
    ...(statementTimeoutMs !== undefined && { statement_timeout: String(statementTimeoutMs) })
  }
  statements.set(
    sql,
    Object.entries(all)
      .map(([name, value]) => `set ${name} = '${value}'`)
      .join('; ')
  )
}

/** Opens the connection of an instance of the driver; its settings hold for what comes after. Gives the query. */
export function openSession(sql: Sql): ReturnType<Sql['unsafe']> {
  return sql.unsafe(statements.get(sql) || 'select')
}
