/**
 * The end of the process. `exit` comes on process.exit and on uncaught errors, but not on SIGTERM, by which containers
 * are stopped, nor on SIGINT, unless somebody listens. So these are listened to: what waits is written to disk, then sent
 * as long as that goes on, and the signal is raised again if nobody else listens to it.
 */

export interface ProcessEnding {
  /** Ends the traces that run, since nobody else will. */
  endAll(): void
  /** Writes all that is not stored to disk. Synchronous. */
  save(): void
  /** Sends what waits, unless the service is away; whether nothing is left. */
  sendBriefly(timeoutMs: number): Promise<boolean>
  /** Leaves what is on disk to the next process. Synchronous. */
  release(): void
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** Containers are killed some seconds after SIGTERM. */
const SIGNAL_MS = 3000
const END_MS = 5000

const endings = new Set<ProcessEnding>()

export function onEnding(ending: ProcessEnding): void {
  if (endings.size === 0) listen()
  endings.add(ending)
}

export function offEnding(ending: ProcessEnding): void {
  endings.delete(ending)
}

let isListening = false

function listen(): void {
  if (isListening) return
  isListening = true
  process.on('exit', () => {
    for (const ending of endings) {
      ending.endAll()
      ending.save()
      ending.release()
    }
  })
  // Emitted again when what was begun here is over, so a service that is away is tried once.
  const away = new Set<ProcessEnding>()
  process.on('beforeExit', () => {
    for (const ending of endings) {
      if (away.has(ending)) continue
      ending.endAll()
      void ending.sendBriefly(END_MS).then(isAll => isAll || away.add(ending))
    }
  })
  for (const signal of SIGNALS) process.once(signal, () => void onSignal(signal))
}

async function onSignal(signal: NodeJS.Signals): Promise<void> {
  const isOurs = process.listenerCount(signal) === 0
  if (isOurs) for (const ending of endings) ending.endAll()
  for (const ending of endings) ending.save()
  // The application's own listener decides when the process ends.
  if (!isOurs) return
  await Promise.all([...endings].map(ending => ending.sendBriefly(SIGNAL_MS)))
  for (const ending of endings) ending.release()
  process.kill(process.pid, signal)
}
