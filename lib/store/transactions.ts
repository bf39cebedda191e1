/**
 * Several statements on one connection. Most writes are a single statement, which is atomic by itself. A statement
 * writes either to a project's tables or to the remaining tables, which may be on another server
 * (lib/database/tables.ts), so a write to both takes two statements.
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
    // A lost connection has already rolled back the transaction, and the work's own error is more specific.
    await sql.unsafe('rollback').catch(() => {})
    throw error
  }
}

const SNAPSHOT = 'begin isolation level repeatable read read only'

/** Runs `work` on one state of the database, however many statements it awaits one after another. It must only read. */
export async function inSnapshot<T>(sql: Sql, work: () => Promise<T>): Promise<T> {
  await sql.unsafe(SNAPSHOT)
  try {
    return await work()
  } finally {
    await sql.unsafe('rollback').catch(() => {})
  }
}

/** Yields what `reading` yields, on one state of the database. It must only read, and begins with the first item. */
export async function* snapshotOf<T>(sql: Sql, reading: AsyncIterable<T>): AsyncGenerator<T, void> {
  await sql.unsafe(SNAPSHOT)
  try {
    yield* reading
  } finally {
    await sql.unsafe('rollback').catch(() => {})
  }
}

/**
 * Awaits statements that were sent together. If any fails, throws the first failure after all have settled. Each item
 * must be an async function's promise: on a lost connection, a statement throws synchronously, which would leave
 * earlier statements' rejections unhandled and end the process.
 */
export async function allAnswered<T>(statements: readonly PromiseLike<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(statements)
  return settled.map(each => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}
