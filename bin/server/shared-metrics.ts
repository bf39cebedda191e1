/**
 * Combines the metrics of several processes (PROCESSES). A scrape reaches one worker, which requests the metrics from
 * the primary. The primary requests the metrics of all workers, and also adds the counts of workers that have ended,
 * because a decreasing counter would look like a restart.
 */
import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { keepCounts, type Metrics, type Snapshot } from '../../lib/metrics.ts'

/**
 * A worker sends 'all' to request all snapshots, and receives 'these'. The primary sends 'yours' to request a worker's
 * snapshot, and receives 'mine'.
 */
type Message =
  | { readonly metrics: 'all'; readonly question: number }
  | { readonly metrics: 'these'; readonly question: number; readonly snapshots: readonly Snapshot[] }
  | { readonly metrics: 'yours'; readonly round: number }
  | { readonly metrics: 'mine'; readonly round: number; readonly snapshot: Snapshot }

/** Time limit for all snapshots. A process that does not respond in time is counted with its last snapshot. */
const MOST_MS = 3000

const isMessage = (message: unknown): message is Message =>
  typeof message === 'object' && message !== null && 'metrics' in message

/** Starts gathering metrics in the primary. */
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

/** Makes this worker's metrics cover all processes. */
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

/**
 * Sends a message to the primary. Ignores errors, because this process is about to end too if the primary has ended.
 */
function tell(message: Message): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}
