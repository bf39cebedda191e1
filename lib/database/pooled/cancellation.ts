/** The client that waits for a piece of work, if there is one. */
export interface Client {
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal
  /**
   * The id of the project that it asks about. Reads of one project take turns, so that reads of others need not wait.
   */
  readonly party?: number | undefined
}

/** Work that ends sooner is not watched, because making a signal costs more than most queries. */
const WATCH_AFTER_MS = 100

/** Calls `act` if the client goes away while the work goes on. Returns a function that ends the watch. */
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
