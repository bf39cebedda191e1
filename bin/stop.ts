/**
 * When a server is to stop: a first signal asks for it, a second one, after REPEATED_MS, does not wait for requests any
 * more, and a third ends the process where it stands. An error that nobody caught stops the server as well: nothing is
 * known of its state then.
 */
import type { Logger } from '../lib/log.ts'

export interface Stop {
  readonly requested: Promise<void>
  readonly forced: Promise<void>
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** npm passes a Ctrl-C on which the terminal has given to every process already: that is not a second one. */
const REPEATED_MS = 1000
/** What is still open after a forced stop keeps the process no longer; PostgreSQL stops in less. */
const FORCED_MS = 2000

/** From now on signals do not end the process by themselves. */
export function listenForStop(log: Logger): Stop {
  const requested = latch()
  const forced = latch()
  const steps = [
    requested.open,
    () => {
      log.warn('stopping without waiting for requests under way')
      process.exitCode = 1
      forced.open()
      setTimeout(() => process.exit(), FORCED_MS).unref()
    },
    () => process.exit(1)
  ]
  let last = Number.NEGATIVE_INFINITY
  const step = () => {
    if (performance.now() - last < REPEATED_MS) return
    last = performance.now()
    steps.shift()?.()
  }
  for (const signal of SIGNALS) process.on(signal, step)
  process.on('uncaughtException', error => {
    log.fatal(error, 'stopping after an error that nobody caught')
    process.exitCode = 1
    requested.open()
  })
  return { requested: requested.opened, forced: forced.opened }
}

function latch() {
  let open!: () => void
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { open, opened }
}
