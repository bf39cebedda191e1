/**
 * Compare and set, for the small writes (metadata, scores, deletion): a statement takes only while the trace has the version
 * that it found. Each round that one writer loses, another one won.
 */
import type { Attempts } from '../database/sql-access.ts'

/** The trace changed between the look and the write: nothing was written. */
export const CHANGED = Symbol('changed')

/** Runs a statement that writes; marks on the attempts that it is under way. */
export type Send = <T>(statement: () => Promise<T>) => Promise<T>

/** Runs rounds until one of them does not end with CHANGED, and gives what it ended with. */
export async function compareAndSet<T>(
  attempts: Attempts,
  round: (send: Send) => Promise<T | typeof CHANGED>
): Promise<T> {
  const send: Send = async statement => {
    const { sent } = attempts
    attempts.sent = true
    const result = await statement()
    // Where it throws the mark stays: whether the statement took is known only later.
    attempts.sent = sent
    return result
  }
  for (;;) {
    const outcome = await round(send)
    if (outcome !== CHANGED) return outcome
  }
}
