/**
 * The database as request handlers see it. Its failures become refusals, so that no trouble of the database is ever a
 * 500:
 *
 * | failure | read                          | write                                            |
 * |---------|-------------------------------|--------------------------------------------------|
 * | lost    | tried once more, then 503     | tried again for LOST_LIMIT_MS, then 429          |
 * | refused | 503 `unavailable`             | 429 `quota_exhausted`: nothing was stored        |
 * | retry   | tried once more, then 503     | tried up to WRITE_ATTEMPTS times, then 429       |
 * | bug     | thrown as it is               | thrown as it is                                  |
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { Refusal } from '../errors.ts'
import type { SharedGate } from '../limits/shared-gate.ts'
import { classifyFailure, isReadOnlyRefusal } from './failure.ts'
import type { Pool } from './pool.ts'
import type { Client } from './pooled/cancellation.ts'
import { SCHEMA_NAMES, type TableNames } from './tables.ts'

/** What an attempt at a write must know of the attempts before it. */
export interface Attempts {
  /**
   * Set while a statement that writes is under way. If it is set when an attempt begins, the answer to an earlier
   * attempt was lost with its connection. If the work is found done then, the earlier attempt did it.
   */
  sent: boolean
}

/** Reads what one project has, from the tables of these names. */
export type ProjectRead<T> = (sql: Sql, names: TableNames) => Promise<T>

/** The database as handlers see it. Its methods turn failures into the refusals of the table above. */
export interface SqlAccess {
  /**
   * Runs queries that change nothing. They are tried once more after a lost connection, and then refused as 503
   * `unavailable`. If a client is given, such as the request, the queries are cancelled when it goes away.
   */
  read<T>(work: (sql: Sql) => Promise<T>, client?: Client): Promise<T>
  /**
   * The same for queries about one project that read its traces and what belongs to them, and nothing else. They are
   * asked on the server that has the project, where its tables have these names.
   */
  readOf<T>(projectId: number, work: ProjectRead<T>, client?: Client): Promise<T>
  /** Whether `readOf` asks another server than `read` does. */
  isApart(projectId: number): boolean
  /**
   * Runs work with one statement that writes, which is atomic by itself. After a lost connection the work is run
   * again, and must find out what became of the statement. A refusal of the database becomes 429 `quota_exhausted`.
   */
  write<T>(work: (sql: Sql, attempts: Attempts) => Promise<T>): Promise<T>
}

/** Nothing was read: it is to be asked for by the address of the database. */
export const ELSEWHERE = Symbol('elsewhere')

/** Reads of one project where its traces are. */
export interface Near {
  /** Whether it is known where they are. */
  has(projectId: number): boolean
  read<T>(projectId: number, work: ProjectRead<T>, client?: Client): Promise<T | typeof ELSEWHERE>
}

const READ_ATTEMPTS = 2
const WRITE_ATTEMPTS = 4
const RETRY_DELAY_MS = 5
/** How long the outcome of a lost write is looked for. After that the client is told to look for itself. */
const LOST_LIMIT_MS = 5000
const LOST_PAUSE_MS = 50

/**
 * Makes the access. Reads go through `readers` and writes through `writers`, so that neither wait for the others;
 * reads of one project through `near`, if they can. What clients read takes `turns`: a project's reads never hold all
 * connections.
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

async function withAttempts<T>(attempts: number, failures: readonly string[], work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attempts || !failures.includes(classifyFailure(error))) throw error
    }
    // The pause is random, because two that were in each other's way would meet again after equal pauses.
    await delay(RETRY_DELAY_MS * attempt * Math.random())
  }
}

const REFUSED = 'The store refused the write; nothing was stored. Retry later.'
const UNKNOWN = 'The database went away during the write; look whether it was done before you repeat it.'

function refuseRead(error: unknown): never {
  if (classifyFailure(error) === 'bug') throw error
  throw refusalWith(error, 'unavailable', 'The database cannot be reached; retry later.')
}

/** A write whose answer was lost is committed as a whole or not at all. The next attempt finds out which. */
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
