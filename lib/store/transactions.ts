/**
 * Runs several statements on one connection. Most writes are a single statement, which is atomic by itself. A project's
 * tables may be on a different server from the remaining tables (lib/database/tables.ts), so a write to both takes two
 * statements.
 */
import type { Sql } from 'postgres'

/** Time limit for a write, after which PostgreSQL cancels the write and the request is rejected. */
export const WRITE_LIMIT_MS = 30_000

/** Runs `work` in a transaction on this connection. */
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

/** Runs `work` in a read-only transaction on this connection. All statements see the same snapshot. */
export async function inSnapshot<T>(sql: Sql, work: () => Promise<T>): Promise<T> {
  await sql.unsafe(SNAPSHOT)
  try {
    return await work()
  } finally {
    await sql.unsafe('rollback').catch(() => {})
  }
}

/**
 * Yields the items of `reading`, all read from a single snapshot in a read-only transaction. The transaction begins
 * when the first item is requested.
 */
export async function* snapshotOf<T>(sql: Sql, reading: AsyncIterable<T>): AsyncGenerator<T, void> {
  await sql.unsafe(SNAPSHOT)
  try {
    yield* reading
  } finally {
    await sql.unsafe('rollback').catch(() => {})
  }
}

/**
 * Awaits statements that were sent together. If any statement fails, throws the first failure after all statements have
 * settled. Each item must be an async function's promise, because on a lost connection a statement throws
 * synchronously. Without the async function, earlier statements' rejections would then be unhandled and end the
 * process.
 */
export async function allAnswered<T>(statements: readonly PromiseLike<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(statements)
  return settled.map(each => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}
