/**
 * Handles the end of the process. By default, Node does not emit `exit` on SIGINT or on SIGTERM, the signal that stops
 * containers. This module handles both signals: it saves waiting deliveries to disk and, unless the application has its
 * own listener, sends for up to SIGNAL_MS and raises the signal again.
 */

export interface ProcessEnding {
  /** Ends the running traces, because the application can no longer end them. */
  endAll(): void
  /** Writes all unsent deliveries to disk. Synchronous. */
  save(): void
  /** Sends waiting deliveries unless the service is unreachable. Resolves to true if no delivery is left. */
  sendBriefly(timeoutMs: number): Promise<boolean>
  /** Leaves the files on disk to the next process. Synchronous. */
  release(): void
}

/** Maximum sending time after a signal. Containers are killed a few seconds after SIGTERM. */
const SIGNAL_MS = 3000
const END_MS = 5000

const endings = new Set<ProcessEnding>()

let isListening = false

/** Registers what to do when the process ends. Returns a function that undoes the registration. */
export function onEnding(ending: ProcessEnding): () => void {
  endings.add(ending)
  const off = () => void endings.delete(ending)
  if (isListening) return off
  isListening = true
  process.on('exit', () => {
    for (const ending of endings) {
      ending.endAll()
      ending.save()
      ending.release()
    }
  })
  // Node emits `beforeExit` again when the work started here ends. To avoid a loop, failed sending is not retried.
  const away = new Set<ProcessEnding>()
  process.on('beforeExit', () => {
    for (const ending of endings) {
      if (away.has(ending)) continue
      ending.endAll()
      void ending.sendBriefly(END_MS).then(isAll => isAll || away.add(ending))
    }
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void onSignal(signal))
  // Deno emits no `exit` after an uncaught error. The application may still handle the error, so no trace is ended.
  if ('Deno' in globalThis) for (const name of ['error', 'unhandledrejection']) listen(name, saveAll)
  return off
}

/** Node's types lack this function of Deno. */
const listen = (name: string, listener: () => void) =>
  (globalThis as unknown as EventTarget).addEventListener(name, listener)

function saveAll(): void {
  for (const ending of endings) ending.save()
}

async function onSignal(signal: NodeJS.Signals): Promise<void> {
  const isOurs = process.listenerCount(signal) === 0
  if (isOurs) for (const ending of endings) ending.endAll()
  saveAll()
  // The application's own listener decides when the process ends.
  if (!isOurs) return
  await Promise.all([...endings].map(ending => ending.sendBriefly(SIGNAL_MS)))
  for (const ending of endings) ending.release()
  process.kill(process.pid, signal)
}
