/** Lets Ctrl-C stop a long task cleanly between two steps. A second Ctrl-C ends the process immediately. */
import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Thrown if a signal interrupted the work. The exit code is the shell's code for a process ended by that signal. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number
  constructor(message: string, signal: (typeof SIGNALS)[number]) {
    super(message)
    this.exitCode = 128 + constants.signals[signal]
  }
}

/** Runs `work` with an AbortSignal that aborts on SIGINT or SIGTERM. Throws Interrupted if `work` then fails. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const listeners = SIGNALS.map(signal => [signal, () => controller.abort(signal)] as const)
  for (const [signal, abort] of listeners) process.once(signal, abort)
  try {
    return await work(controller.signal)
  } catch (error) {
    if (!controller.signal.aborted) throw error
    throw new Interrupted(error instanceof Error ? error.message : String(error), controller.signal.reason)
  } finally {
    for (const [signal, abort] of listeners) process.off(signal, abort)
  }
}
