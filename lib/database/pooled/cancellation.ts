/** A client that is waiting for a piece of work. */
export interface Client {
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /** Id of the project that the client reads. Projects' reads take turns, so that no project delays other projects. */
  readonly party?: number | undefined
}

/**
 * Work that ends within this time is not watched for disconnects, because creating a signal costs more than most
 * queries.
 */
const WATCH_AFTER_MS = 100

/** Calls the `act` callback if the client disconnects during the work. Returns a function that stops watching. */
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
