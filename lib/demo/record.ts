/** Records the demo's traces through the client, as any application would. */
import type { TracePart } from '../../clients/typescript/record/trace.ts'
import { Outbox } from '../../clients/typescript/send/outbox.ts'
import { Sender } from '../../clients/typescript/send/sender.ts'
import { Transport } from '../../clients/typescript/send/transport.ts'
import { AdminError } from '../admin-error.ts'
import { DEMO_ENVIRONMENTS, type DemoTrace } from './parts.ts'
import { type DemoSize, demoTraces } from './traces.ts'

export interface RecordedDemo {
  readonly id: string
  readonly name: string
  readonly state: 'ok' | 'error' | 'unset' | 'running'
  readonly scores: number
}

/** Number of traces sent together. No more traces than this are in memory at a time. */
const CHUNK = 100
/** Time limit for sending a chunk. A responsive server accepts a chunk within a second. */
const CHUNK_MS = 60_000

/** Keys to record with, by environment. Traces without an environment, and a lone key's traces, use the first key. */
export type DemoKeys = readonly [string, ...string[]]

/** Records the demo on the server at `address`. Calls `onRecorded` with the total after each chunk. */
export async function recordDemo(
  address: string,
  keys: DemoKeys,
  size: DemoSize = {},
  onRecorded: (recorded: number) => void = () => {}
): Promise<RecordedDemo[]> {
  const senders = keys.map(key => openSender(address, key))
  const sendAll = async () => {
    for (const { outbox } of senders) await send(outbox, address)
  }
  const recorded: RecordedDemo[] = []
  try {
    for (const trace of demoTraces(Date.now(), size)) {
      const { id, name, status } = trace.body.trace
      const place = trace.environment === undefined ? 0 : DEMO_ENVIRONMENTS.indexOf(trace.environment)
      const { outbox } = senders[place] ?? senders[0]!
      for (const part of partsOf(trace)) outbox.add(id, name, part)
      const state = status ?? trace.end?.status ?? (trace.body.trace.endedAt === undefined ? 'running' : 'unset')
      recorded.push({ id, name, state, scores: trace.scores?.length ?? 0 })
      if (recorded.length % CHUNK === 0) await sendAll()
      if (recorded.length % CHUNK === 0) onRecorded(recorded.length)
    }
    await sendAll()
  } finally {
    for (const { outbox, transport } of senders) {
      outbox.isStopped = true
      await transport.close()
    }
  }
  onRecorded(recorded.length)
  return recorded
}

function openSender(address: string, key: string) {
  const transport = new Transport({ url: address, key })
  const options = { memoryBytes: Number.POSITIVE_INFINITY, onProblem: () => {} }
  const outbox: Outbox = new Outbox(options, async () => new Sender(outbox, transport))
  return { outbox, transport }
}

function partsOf({ body, appended, end, scores = [] }: DemoTrace): TracePart[] {
  const part = (kind: TracePart['kind'], value: unknown): TracePart => ({ kind, body: JSON.stringify(value) })
  return [
    part(body.trace.endedAt === undefined ? 'start' : 'record', body),
    ...(appended === undefined ? [] : [part('spans', { schemaVersion: 1, spans: appended })]),
    ...(end === undefined ? [] : [part('end', end)]),
    ...scores.map(score => part('score', score))
  ]
}

/** Sends the waiting traces. Fails if the server is unreachable, because the user is waiting. */
async function send(outbox: Outbox, address: string): Promise<void> {
  const { kept, lost, problems } = await outbox.flush({ timeoutMs: CHUNK_MS }, true)
  const [loss] = lost
  if (loss !== undefined) throw new AdminError(`the server at ${address} rejected ${loss.name}: ${loss.reason}`)
  if (kept > 0)
    throw new AdminError(
      `the server at ${address} did not accept all traces: ${problems.at(-1) ?? 'it did not respond in time'}`
    )
}
