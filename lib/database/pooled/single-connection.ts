/** A connection that is opened for one purpose and belongs to no pool. */
import type { Sql } from 'postgres'
import type { ConnectOptions, Database } from '../database.ts'
import { openSession } from '../session/open-session.ts'

type Opener = Pick<Database, 'connect' | 'limit'>

/** Waits for a place. To be ended by closeSingle. */
export function openSingle({ connect, limit }: Opener, options: ConnectOptions): Promise<Sql> {
  return limit.open(() => openOnce(connect, options))
}

/** Closes the connection. What is under way on it is given up. */
export function closeSingle({ limit }: Pick<Opener, 'limit'>, sql: Sql): Promise<void> {
  return limit.leaveAfter(sql.end({ timeout: 0 }))
}

/** Opens a connection of the driver. If that fails, ends the driver's instance. */
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
