/**
 * Decides when a server stops. The first signal requests a stop. SIGTERM, which supervisors send, also gives clients
 * time to notice the shutdown. A second signal, at least REPEATED_MS later, stops the server without waiting for
 * requests. A third signal ends the process immediately. An uncaught error also stops the server, because the server's
 * state is then unknown.
 */
import type { Logger } from '../../lib/log.ts'

export interface Stop {
  /** Resolves to whether clients should be notified before the stop. */
  readonly requested: Promise<boolean>
  readonly forced: Promise<void>
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/**
 * Minimum time between two signals. Signals closer together count as one, because a terminal and npm each forward the
 * same Ctrl-C to this process.
 */
const REPEATED_MS = 1000
/**
 * Time after which a forced stop ends the process, even if resources are still open. PostgreSQL stops within this time.
 */
const FORCED_MS = 2000

/** Starts listening for signals. From then on, a signal alone no longer ends the process. */
export function listenForStop(log: Logger): Stop {
  const requested = latch<boolean>()
  const forced = latch()
  const steps: ((signal: NodeJS.Signals) => void)[] = [
    signal => requested.open(signal === 'SIGTERM'),
    () => {
      log.warn('stopping without waiting for requests in flight')
      process.exitCode = 1
      forced.open()
      setTimeout(() => process.exit(), FORCED_MS).unref()
    },
    () => process.exit(1)
  ]
  let last = Number.NEGATIVE_INFINITY
  const step = (signal: NodeJS.Signals) => {
    if (performance.now() - last < REPEATED_MS) return
    last = performance.now()
    steps.shift()?.(signal)
  }
  for (const signal of SIGNALS) process.on(signal, step)
  process.on('uncaughtException', error => {
    log.fatal(error, 'stopping after an uncaught error')
    process.exitCode = 1
    requested.open(false)
  })
  return { requested: requested.opened, forced: forced.opened }
}

function latch<T = void>() {
  let open!: (value: T) => void
  const opened = new Promise<T>(resolve => {
    open = resolve
  })
  return { open, opened }
}
