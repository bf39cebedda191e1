/**
 * Database access for request handlers. Failures become refusals, so that outages and conflicts never cause a 500:
 *
 * | failure | read                          | write                                            |
 * |---------|-------------------------------|--------------------------------------------------|
 * | lost    | retried once, then 503        | retried for LOST_LIMIT_MS, then 429              |
 * | refused | 503 `unavailable`             | 429 `quota_exhausted`; nothing was stored        |
 * | retry   | retried once, then 503        | at most WRITE_ATTEMPTS attempts, then 429        |
 * | bug     | thrown unchanged              | thrown unchanged                                 |
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { Refusal } from '../errors.ts'
import type { SharedGate } from '../limits/shared-gate.ts'
import { classifyFailure, type DatabaseFailure, isReadOnlyRefusal } from './failure.ts'
import type { Pool } from './pool.ts'
import type { Client } from './pooled/cancellation.ts'
import { SCHEMA_NAMES, type TableNames } from './tables.ts'

/** State that one write attempt passes to the next. */
export interface Attempts {
  /**
   * Set while a writing statement is in flight. If set when an attempt begins, the response to an earlier attempt was
   * lost when the connection broke. If this attempt then finds the work already done, the earlier attempt did the work.
   */
  sent: boolean
}

/** Reads one project's data. `names` holds the names of the project's tables on the server being read. */
export type ProjectRead<T> = (sql: Sql, names: TableNames) => Promise<T>

/** Database access that turns failures into the refusals that the table above lists. */
export interface SqlAccess {
  /**
   * Runs read-only queries. Retries once after a lost connection, then throws the 503 `unavailable` refusal. Cancels
   * the queries when `client`, such as the request, disconnects.
   */
  read<T>(work: (sql: Sql) => Promise<T>, client?: Client): Promise<T>
  /**
   * Runs queries that read only rows of one project; handles failures in the same way as the `read` method. The queries
   * run on the server that stores the project. The `work` callback receives the names of the project's tables on that
   * server.
   */
  readOf<T>(projectId: number, work: ProjectRead<T>, client?: Client): Promise<T>
  /** Returns whether the `readOf` method uses a different server from the `read` method. */
  isApart(projectId: number): boolean
  /**
   * Runs work that contains one writing statement. A single statement is atomic by itself. After a lost connection,
   * runs the work again. The work must then find out whether the statement was committed. Rejected writes are answered
   * with 429 `quota_exhausted`.
   */
  write<T>(work: (sql: Sql, attempts: Attempts) => Promise<T>): Promise<T>
}

/** Returned by Near.read if nothing was read and the caller must read from the database's own address instead. */
export const ELSEWHERE = Symbol('elsewhere')

/** Access for reading one project on the server that stores the project's traces. */
export interface Near {
  /** Returns whether the project's server is known. */
  has(projectId: number): boolean
  read<T>(projectId: number, work: ProjectRead<T>, client?: Client): Promise<T | typeof ELSEWHERE>
}

const READ_ATTEMPTS = 2
const WRITE_ATTEMPTS = 4
const RETRY_DELAY_MS = 5
/** How long to try to determine the outcome of a lost write before telling the client to retry. */
const LOST_LIMIT_MS = 5000
const LOST_PAUSE_MS = 50

/**
 * Creates access whose reads use the pool `readers` and whose writes use the pool `writers`, so that reads and writes
 * do not delay each other. Reads of one project use `near` if possible. Client reads pass through `turns`, so that no
 * single project's reads can hold all connections.
 */
export function createSqlAccess(
  readers: Pool,
  writers: Pool = readers,
  near?: Near,
  turns?: Pick<SharedGate, 'run'>
): SqlAccess {
  const inTurn = <T>(read: () => Promise<T>, client: Client | undefined): Promise<T> =>
    turns === undefined || client?.party === undefined ? read() : turns.run(client.party, read, { client })
  const readFar: SqlAccess['read'] = (work, client) =>
    withAttempts(READ_ATTEMPTS, ['lost', 'retry'], () => readers.run(work, client)).catch(refuseRead)
  return {
    read: (work, client) => inTurn(() => readFar(work, client), client),
    readOf(projectId, work, client) {
      return inTurn(async () => {
        const found = await near?.read(projectId, work, client).catch(refuseRead)
        return near === undefined || found === ELSEWHERE
          ? readFar(sql => work(sql, SCHEMA_NAMES), client)
          : (found as Awaited<ReturnType<typeof work>>)
      }, client)
    },
    isApart: projectId => near?.has(projectId) === true,
    write: work => write(writers, work)
  }
}

/** Runs the `work` callback up to `attempts` times, as long as it fails in one of these ways. */
export async function withAttempts<T>(
  attempts: number,
  failures: readonly DatabaseFailure[],
  work: () => Promise<T>,
  delayMs = RETRY_DELAY_MS
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attempts || !failures.includes(classifyFailure(error))) throw error
    }
    // The pause is random, because conflicting transactions would collide again after equal pauses.
    await delay(delayMs * attempt * Math.random())
  }
}

const REFUSED = 'The store rejected the write; nothing was stored. Retry later.'
const UNKNOWN =
  'The connection to the database was lost during the write; check whether the write succeeded before retrying.'

function refuseRead(error: unknown): never {
  if (classifyFailure(error) === 'bug') throw error
  throw refusalWith(error, 'unavailable', 'The database cannot be reached; retry later.')
}

/** A write whose response was lost is committed entirely or not at all. The next attempt determines which. */
async function write<T>(pool: Pool, work: (sql: Sql, attempts: Attempts) => Promise<T>): Promise<T> {
  const attempts = { sent: false }
  const attempt = async () => {
    const { sent } = attempts
    try {
      return await pool.run(sql => work(sql, attempts))
    } catch (error) {
      if (classifyFailure(error) !== 'lost') attempts.sent = sent
      throw error
    }
  }
  let lostSince: number | undefined
  for (;;) {
    try {
      return await withAttempts(WRITE_ATTEMPTS, ['retry'], attempt)
    } catch (error) {
      const failure = classifyFailure(error)
      if (failure === 'bug') throw error
      if (failure === 'lost') lostSince ??= performance.now()
      const isOver = lostSince === undefined || performance.now() - lostSince > LOST_LIMIT_MS
      if (isOver || isReadOnlyRefusal(error)) {
        throw refusalWith(error, 'quota_exhausted', attempts.sent && lostSince !== undefined ? UNKNOWN : REFUSED)
      }
    }
    await delay(LOST_PAUSE_MS)
  }
}

function refusalWith(cause: unknown, code: 'unavailable' | 'quota_exhausted', message: string): Refusal {
  return Object.assign(new Refusal(code, message), { cause })
}
