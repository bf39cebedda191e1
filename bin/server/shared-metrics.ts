/**
 * The metrics of several processes (PROCESSES) as one. A scrape reaches any of them; that one asks the primary, which
 * asks all, and adds what those counted that have ended: a counter that went down would look like a restart.
 */
import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { keepCounts, type Metrics, type Snapshot } from '../../lib/metrics.ts'

/** A worker asks for the snapshots of all, and is given them; the primary asks for one, and is given it. */
type Message =
  | { readonly metrics: 'all'; readonly question: number }
  | { readonly metrics: 'these'; readonly question: number; readonly snapshots: readonly Snapshot[] }
  | { readonly metrics: 'yours'; readonly round: number }
  | { readonly metrics: 'mine'; readonly round: number; readonly snapshot: Snapshot }

/** A process that does not answer in time counts with its last answer. */
const MOST_MS = 3000

const isMessage = (message: unknown): message is Message =>
  typeof message === 'object' && message !== null && 'metrics' in message

/** Begins to gather, in the primary. */
export function gatherMetrics(): void {
  const newest = new Map<number, Snapshot>()
  let ended: Snapshot = []
  let rounds = 0
  let underWay: Promise<readonly Snapshot[]> | undefined
  let note = (_worker: Worker, _round: number) => {}

  async function gather(): Promise<readonly Snapshot[]> {
    const round = ++rounds
    const silent = new Set(Object.values(cluster.workers ?? {}).filter(worker => worker?.isConnected()))
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, MOST_MS)
      note = (worker, answered) => {
        if (answered === round) silent.delete(worker)
        if (silent.size > 0) return
        clearTimeout(timer)
        resolve()
      }
      for (const worker of silent) worker?.send({ metrics: 'yours', round } satisfies Message, () => {})
    })
    return [...newest.values(), ended]
  }

  cluster.on('message', (worker, message: unknown) => {
    if (!isMessage(message)) return
    if (message.metrics === 'mine') {
      newest.set(worker.id, message.snapshot)
      note(worker, message.round)
    } else if (message.metrics === 'all') {
      underWay ??= gather().finally(() => {
        underWay = undefined
      })
      const { question } = message
      void underWay.then(snapshots =>
        worker.send({ metrics: 'these', question, snapshots } satisfies Message, () => {})
      )
    }
  })
  cluster.on('exit', async worker => {
    const last = newest.get(worker.id)
    newest.delete(worker.id)
    if (last !== undefined) ended = await keepCounts(last, ended)
  })
}

/** Makes the metrics of this process, a worker, show those of all processes. */
export function shareMetrics(metrics: Metrics): void {
  const waiting = new Map<number, (snapshots: readonly Snapshot[]) => void>()
  let questions = 0
  process.on('message', async (message: unknown) => {
    if (!isMessage(message)) return
    if (message.metrics === 'yours') {
      const snapshot = await metrics.snapshot()
      tell({ metrics: 'mine', round: message.round, snapshot })
    } else if (message.metrics === 'these') {
      waiting.get(message.question)?.(message.snapshots)
      waiting.delete(message.question)
    }
  })
  metrics.showAll(
    () =>
      new Promise(resolve => {
        const question = ++questions
        waiting.set(question, resolve)
        tell({ metrics: 'all', question })
      })
  )
}

/** The primary may have gone meanwhile, which ends this process too. */
function tell(message: Message): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}
