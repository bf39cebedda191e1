/**
 * Runs several statements on one connection. A single statement is atomic by itself, and most writes are one. On a
 * cluster (Citus) a statement writes either to tables of traces or to tables of the coordinator, so a write to both is
 * two.
 */
import type { Sql } from 'postgres'

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

/**
 * Awaits statements that were sent together, also those after one that fails, whose error is thrown then. Each must be
 * the promise of an async function: a statement on a lost connection throws at once, and the rejections of those before
 * it would be unhandled, which ends the process.
 */
export async function allAnswered<T>(statements: readonly PromiseLike<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(statements)
  return settled.map(each => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}
