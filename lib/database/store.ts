/**
 * The database as request handlers see it: what goes wrong there becomes the answer that decisions.md gives, so that no
 * trouble of the database is ever a 500.
 *
 * | failure | read                          | write                                            |
 * |---------|-------------------------------|--------------------------------------------------|
 * | lost    | tried once more, then 503     | OutcomeUnknown                                   |
 * | refused | 503 `unavailable`             | 429 `quota_exhausted`: nothing was stored        |
 * | retry   | tried once more, then 503     | tried up to WRITE_ATTEMPTS times, then 429       |
 * | bug     | thrown as it is               | thrown as it is                                  |
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '../app.ts'
import { Refusal } from '../errors.ts'
import { classifyFailure } from './failure.ts'
import type { Pool } from './pool.ts'

const READ_ATTEMPTS = 2
const WRITE_ATTEMPTS = 4
const RETRY_DELAY_MS = 5

/**
 * The connection was lost while a statement was under way: it was committed whole, or not at all, and nobody can say
 * which. A handler that can tell from what is stored (by id and hash, or because doing it again changes nothing) catches
 * this and looks; otherwise the client is told 503, which, unlike 429, does not promise that nothing was stored.
 */
export class OutcomeUnknown extends Refusal {
  constructor(cause: unknown) {
    super('unavailable', 'The database was lost before it answered; look whether this was stored before you repeat it.')
    this.cause = cause
  }
}

/** A Store that reads through `readers` and writes through `writers`, so that neither waits for the other. */
export function createStore(readers: Pool, writers: Pool = readers): Store {
  return {
    read: (work, client) =>
      withAttempts(READ_ATTEMPTS, ['lost', 'retry'], () => readers.run(work, client)).catch(refuseRead),
    write: work => withAttempts(WRITE_ATTEMPTS, ['retry'], () => writers.run(work)).catch(refuseWrite)
  }
}

async function withAttempts<T>(attempts: number, kinds: readonly string[], work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attempts || !kinds.includes(classifyFailure(error))) throw error
    }
    // Apart by chance, or two that were in each other's way would meet again.
    await delay(RETRY_DELAY_MS * attempt * Math.random())
  }
}

function refuseRead(error: unknown): never {
  if (classifyFailure(error) === 'bug') throw error
  throw refusalWith(error, 'unavailable', 'The database cannot be reached; retry later.')
}

function refuseWrite(error: unknown): never {
  const failure = classifyFailure(error)
  if (failure === 'bug') throw error
  if (failure === 'lost') throw new OutcomeUnknown(error)
  throw refusalWith(error, 'quota_exhausted', 'The store refused the write; nothing was stored. Retry later.')
}

function refusalWith(cause: unknown, code: 'unavailable' | 'quota_exhausted', message: string): Refusal {
  return Object.assign(new Refusal(code, message), { cause })
}
