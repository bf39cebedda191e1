/** Whom a piece of work is for, if anybody waits for it. */
export interface Client {
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal
}

/** Work that is over before is not watched: a signal costs more than most queries wait. */
const WATCH_AFTER_MS = 100

/** Calls `act` when the client has gone while the work goes on; returns what ends the watch. */
export function watchDeparture(client: Client, act: () => void): () => void {
  let signal: AbortSignal | undefined
  const timer = setTimeout(() => {
    signal = client.signal
    if (signal.aborted) act()
    else signal.addEventListener('abort', act, { once: true })
  }, WATCH_AFTER_MS)
  return () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', act)
  }
}
