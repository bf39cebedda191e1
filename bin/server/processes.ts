/**
 * Runs several server processes that share the port (PROCESSES). The primary process holds the embedded database and
 * answers no requests. It starts the other processes, replaces one that has died, and tells them when to stop. They
 * ignore signals, because a terminal sends its signals to the whole group, and only the primary decides when to stop.
 * If the primary is killed, node:cluster ends them at once.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { ConfigError } from '../../lib/config.ts'
import type { Logger } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'

export interface Listening {
  readonly host: string
  readonly port: number
}
export interface Running extends Listening {
  /** Says to all who use it that it goes soon. */
  drain(): void
  close(): Promise<void>
}

/** The one report of a process: where it listens, or why it cannot. */
type Report = Listening | { readonly failure: string }

/** The orders of the primary: announce the end, and end. */
type Order = 'drain' | 'stop'
/** How long a process may take to stop: longer than a service takes to close. */
const STOP_TIMEOUT_MS = 25_000
/** The pause before a process is replaced, so that one that dies at once each time does not keep the machine busy. */
const RESTART_DELAY_MS = 1000

/** Starts `count` processes, each with the command line of this one. Resolves when all of them listen. */
export async function startProcesses(count: number, log: Logger): Promise<Running> {
  let isStopping = false
  const close = async () => {
    isStopping = true
    await Promise.all(workers().map(stopProcess))
  }
  const drain = () => {
    for (const worker of workers()) tell(worker, 'drain')
  }
  // The library of metrics is loaded only now: no other command needs it.
  const { gatherMetrics } = await import('./shared-metrics.ts')
  gatherMetrics()
  try {
    const listening = await Promise.all(Array.from({ length: count }, startProcess))
    cluster.on('exit', ({ process: { pid } }, code, signal) => {
      if (isStopping) return
      log.error({ pid, code, signal }, 'a server process ended; starting another')
      setTimeout(() => {
        if (!isStopping) startProcess().catch(error => log.error(error, 'a server process could not be started'))
      }, RESTART_DELAY_MS)
    })
    return { ...listening[0]!, drain, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Runs the service in a process that `startProcesses` started, until the primary tells it to stop. */
export async function serveProcess(start: () => Promise<Running & { readonly metrics: Metrics }>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  const orders = new Map<Order, () => void>()
  process.on('message', (order: Order) => orders.get(order)?.())
  const stopped = new Promise<void>(resolve => orders.set('stop', resolve))
  try {
    const service = await start()
    const { shareMetrics } = await import('./shared-metrics.ts')
    shareMetrics(service.metrics)
    orders.set('drain', () => service.drain())
    report({ host: service.host, port: service.port })
    await stopped
    await service.close()
  } catch (error) {
    report({ failure: (error as Error).message })
  }
  process.disconnect()
}

function report(message: Report): void {
  process.send!(message)
}

function startProcess(): Promise<Listening> {
  const worker = cluster.fork()
  return new Promise((resolve, reject) => {
    worker.on('message', (message: Report | object) => {
      if ('failure' in message) reject(new ConfigError(message.failure))
      else if ('port' in message) resolve(message)
    })
    worker.once('exit', () => reject(new Error('a server process ended before it was ready')))
  })
}

const workers = (): Worker[] => Object.values(cluster.workers ?? {}).map(worker => worker!)

/** A worker that has died meanwhile is told nothing. */
function tell(worker: Worker, order: Order): void {
  worker.send(order, () => {})
}

async function stopProcess(worker: Worker): Promise<void> {
  if (worker.isDead()) return
  const exited = once(worker, 'exit')
  const timer = setTimeout(() => worker.process.kill('SIGKILL'), STOP_TIMEOUT_MS)
  tell(worker, 'stop')
  await exited
  clearTimeout(timer)
}
