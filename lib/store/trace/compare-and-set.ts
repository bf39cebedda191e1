/**
 * Compare-and-set for small writes (metadata, scores, deletion). A statement takes effect only if the trace still has
 * the version that the statement found. A writer's round fails only if another writer's round succeeds.
 */
import type { Attempts } from '../../database/sql-access.ts'

/** Outcome of a round that wrote nothing because the trace changed between read and write. */
export const CHANGED = Symbol('changed')

/** Runs a statement that writes, and sets `Attempts.sent` while the statement is in flight. */
export type Send = <T>(statement: () => Promise<T>) => Promise<T>

/** Runs `round` until it returns a result other than CHANGED, and returns this result. */
export async function compareAndSet<T>(
  attempts: Attempts,
  round: (send: Send) => Promise<T | typeof CHANGED>
): Promise<T> {
  const send: Send = async statement => {
    const { sent } = attempts
    attempts.sent = true
    const result = await statement()
    // If the statement throws, `sent` stays true, because only a later attempt can find out whether the statement was
    // committed.
    attempts.sent = sent
    return result
  }
  for (;;) {
    const outcome = await round(send)
    if (outcome !== CHANGED) return outcome
  }
}
