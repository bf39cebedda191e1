/**
 * Runs several server processes that share the port (PROCESSES). The primary process holds the embedded database and
 * serves no requests. It starts the workers, replaces workers that die, and tells workers when to stop. Workers ignore
 * signals, because a terminal signals the whole process group, but only the primary decides when the workers stop. If
 * the primary is killed, node:cluster ends the workers immediately.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Logger } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { ConfigError } from '../../lib/variables.ts'

export interface Listening {
  readonly host: string
  readonly port: number
}
export interface Running extends Listening {
  /** Announces the shutdown to clients. */
  drain(): void
  close(): Promise<void>
}

/** A worker's report on its start: the address at which the worker listens, or the reason why it cannot listen. */
type Report = Listening | { readonly failure: string }

/** Orders from the primary: announce the shutdown, or stop. */
type Order = 'drain' | 'stop'
/** Time limit for a process to stop, longer than the time that a service takes to close. */
const STOP_TIMEOUT_MS = 25_000
/**
 * Delay before a process is replaced, so that a process that always dies immediately does not keep the machine busy.
 */
const RESTART_DELAY_MS = 1000

/** Starts `count` processes with this process's command line. Resolves when all started processes are listening. */
export async function startProcesses(count: number, log: Logger): Promise<Running> {
  let isStopping = false
  const close = async () => {
    isStopping = true
    await Promise.all(workers().map(stopProcess))
  }
  const drain = () => {
    for (const worker of workers()) tell(worker, 'drain')
  }
  // The metrics library is loaded here because no other command needs the library.
  const { gatherMetrics } = await import('./shared-metrics.ts')
  gatherMetrics()
  try {
    const listening = await Promise.all(Array.from({ length: count }, startProcess))
    cluster.on('exit', ({ process: { pid } }, code, signal) => {
      if (isStopping) return
      log.error({ pid, code, signal }, 'a server process exited; starting another')
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

/** Runs the service in a process started by `startProcesses`, until the primary orders the process to stop. */
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
    worker.once('exit', () => reject(new Error('a server process exited before it was ready')))
  })
}

const workers = (): Worker[] => Object.values(cluster.workers ?? {}).map(worker => worker!)

/** Sends an order. Errors are ignored, because the worker may have just died. */
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
