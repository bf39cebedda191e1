/**
 * Decides when a server stops. A first signal asks it to stop. SIGTERM, which supervisors send, also gives its clients
 * time to notice. A second signal, after REPEATED_MS, makes it stop without waiting for requests. A third one ends the
 * process at once. An uncaught error stops the server as well, because its state is unknown then.
 */
import type { Logger } from '../../lib/log.ts'

export interface Stop {
  /** Resolves to whether the server's clients are to be told before. */
  readonly requested: Promise<boolean>
  readonly forced: Promise<void>
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/**
 * The terminal sends Ctrl-C to every process, and npm passes it on. The signal from npm must not count as a second
 * one.
 */
const REPEATED_MS = 1000
/** A forced stop ends the process after this time, whatever is still open. PostgreSQL stops in less. */
const FORCED_MS = 2000

/** Begins to listen. From now on signals do not end the process by themselves. */
export function listenForStop(log: Logger): Stop {
  const requested = latch<boolean>()
  const forced = latch()
  const steps: ((signal: NodeJS.Signals) => void)[] = [
    signal => requested.open(signal === 'SIGTERM'),
    () => {
      log.warn('stopping without waiting for requests under way')
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
    log.fatal(error, 'stopping after an error that nobody caught')
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
