/**
 * Several server processes that share the port (PROCESSES). The primary holds the embedded database and answers no
 * request; it starts the others, starts another one where one has died, and tells them when to stop. They ignore the
 * signals of a terminal, which reach the whole group: only the primary's word counts. Where the primary is killed they
 * end at once, as node:cluster has it.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { ConfigError } from '../lib/config.ts'
import type { Logger } from '../lib/log.ts'

export interface Listening {
  readonly host: string
  readonly port: number
}
export interface Running extends Listening {
  close(): Promise<void>
}

/** What a process says once: where it listens, or why it cannot. */
type Report = Listening | { readonly failure: string }

const STOP = 'stop'
/** Longer than a service takes to close. */
const STOP_TIMEOUT_MS = 25_000
/** A process that dies at once each time must not keep the machine busy. */
const RESTART_DELAY_MS = 1000

/** Starts so many processes, each of which runs the command line of this one, and resolves when all listen. */
export async function startProcesses(count: number, log: Logger): Promise<Running> {
  let isStopping = false
  const close = async () => {
    isStopping = true
    await Promise.all(Object.values(cluster.workers ?? {}).map(worker => stopProcess(worker!)))
  }
  try {
    const listening = await Promise.all(Array.from({ length: count }, startProcess))
    cluster.on('exit', ({ process: { pid } }, code, signal) => {
      if (isStopping) return
      log.error({ pid, code, signal }, 'a server process ended; starting another')
      setTimeout(() => {
        if (!isStopping) startProcess().catch(error => log.error(error, 'a server process could not be started'))
      }, RESTART_DELAY_MS)
    })
    return { ...listening[0]!, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** In a process that `startProcesses` started: runs the service until the primary says so. */
export async function serveProcess(start: () => Promise<Running>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  const stopped = once(process, 'message')
  try {
    const service = await start()
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
    worker.once('message', (message: Report) => {
      if ('failure' in message) reject(new ConfigError(message.failure))
      else resolve(message)
    })
    worker.once('exit', () => reject(new Error('a server process ended before it was ready')))
  })
}

async function stopProcess(worker: Worker): Promise<void> {
  if (worker.isDead()) return
  const exited = once(worker, 'exit')
  const timer = setTimeout(() => worker.process.kill('SIGKILL'), STOP_TIMEOUT_MS)
  worker.send(STOP, () => {})
  await exited
  clearTimeout(timer)
}
