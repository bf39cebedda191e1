/** A connection that is opened for one purpose and belongs to no pool. */
import type { Sql } from 'postgres'
import type { ConnectOptions, Database } from '../database.ts'
import { openSession } from '../session/open-session.ts'

type Opener = Pick<Database, 'connect' | 'limit'>

/** Opens a connection, waiting for a slot. The caller must end the connection with closeSingle. */
export function openSingle({ connect, limit }: Opener, options: ConnectOptions): Promise<Sql> {
  return limit.open(() => openOnce(connect, options))
}

/** Closes the connection and abandons queries in flight. */
export function closeSingle({ limit }: Pick<Opener, 'limit'>, sql: Sql): Promise<void> {
  return limit.leaveAfter(sql.end({ timeout: 0 }))
}

/** Opens a driver connection. On failure, ends the driver instance. */
export async function openOnce(connect: Database['connect'], options: ConnectOptions): Promise<Sql> {
  const sql = connect(options)
  try {
    await openSession(sql)
    return sql
  } catch (error) {
    sql.end({ timeout: 0 }).catch(() => {})
    throw error
  }
}
