import { withAttempts } from '../database/sql-access.ts'

/** Options for work that a command does in batches. */
export interface BatchOptions<T> {
  /** Called after every batch with the totals so far. */
  readonly onProgress?: (done: T) => void
  /** Aborting this signal stops the work after the current batch. */
  readonly signal?: AbortSignal
}

const ATTEMPTS = 10
const RETRY_DELAY_MS = 20

/**
 * Retries work that PostgreSQL rolled back to end a deadlock. Deadlocks occur because ingest and commands lock traces
 * in different orders.
 */
export const retried = <T>(work: () => Promise<T>): Promise<T> =>
  withAttempts(ATTEMPTS, ['retry'], work, RETRY_DELAY_MS)
