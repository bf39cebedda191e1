/**
 * Several statements of one connection as one transaction. A single statement is atomic by itself, and is what most
 * writes are. On a cluster (Citus) a statement writes to one place: a step that inserts is a statement of its own, and so
 * is what belongs to a table of the coordinator.
 */
import type { PendingQuery, Row, Sql } from 'postgres'

/**
 * Sends statements in one go, between begin and commit, and resolves to their rows. If one fails, all are undone, and its
 * error is thrown.
 */
export async function inOneGo<T extends readonly (readonly Row[])[]>(
  sql: Sql,
  ...statements: { readonly [K in keyof T]: PendingQuery<T[K] & Row[]> }
): Promise<T> {
  const rows = await allAnswered<readonly Row[]>([sql.unsafe('begin'), ...statements, sql.unsafe('commit')])
  return rows.slice(1, -1) as unknown as T
}

/** Runs `work`, which awaits one statement after another, between begin and commit. */
export async function inTransaction<T>(sql: Sql, work: () => Promise<T>): Promise<T> {
  await sql.unsafe('begin')
  try {
    const result = await work()
    await sql.unsafe('commit')
    return result
  } catch (error) {
    // A connection that is lost has undone it, and the error of the work says more.
    await sql.unsafe('rollback').catch(() => {})
    throw error
  }
}

/** Awaits statements that were sent together, also those behind one that fails, whose error is thrown then. */
export async function allAnswered<T>(statements: readonly PromiseLike<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(statements)
  return settled.map(each => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}
