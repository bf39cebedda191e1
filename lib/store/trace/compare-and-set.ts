/**
 * Compare and set, for the small writes (metadata, scores, deletion): a statement takes only while the trace has the
 * version that it found. Each round that one writer loses, another one won.
 */
import type { Attempts } from '../../database/sql-access.ts'

/** The trace changed between the look and the write: nothing was written. */
export const CHANGED = Symbol('changed')

/** Runs a statement that writes. While it is under way, the attempts are marked as sent. */
export type Send = <T>(statement: () => Promise<T>) => Promise<T>

/** Runs rounds until one does not end with CHANGED, and returns its result. */
export async function compareAndSet<T>(
  attempts: Attempts,
  round: (send: Send) => Promise<T | typeof CHANGED>
): Promise<T> {
  const send: Send = async statement => {
    const { sent } = attempts
    attempts.sent = true
    const result = await statement()
    // If the statement throws, the mark stays, because only a later attempt can know whether it was committed.
    attempts.sent = sent
    return result
  }
  for (;;) {
    const outcome = await round(send)
    if (outcome !== CHANGED) return outcome
  }
}
