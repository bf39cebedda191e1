/** Long work that Ctrl-C stops in good order: between two of its steps. A second one ends the process where it stands. */

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Runs `work` with a signal that aborts when the process is told to end. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const abort = () => controller.abort()
  for (const signal of SIGNALS) process.once(signal, abort)
  try {
    return await work(controller.signal)
  } finally {
    for (const signal of SIGNALS) process.off(signal, abort)
  }
}
