/**
 * Several statements of one connection. A single statement is atomic by itself, and is what most writes are. A
 * statement writes either to a project's tables or to the others, which may be on another server
 * (lib/database/tables.ts), so what writes to both is two.
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
 * Awaits statements that were sent together, also those behind one that fails, whose error is thrown then. Each is to
 * be the promise of an async function: a statement on a lost connection throws at once, and those before it would have
 * nobody who hears of their failure, which ends the process.
 */
export async function allAnswered<T>(statements: readonly PromiseLike<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(statements)
  return settled.map(each => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}
