/** Records the demo's traces through the public API, as any client would. */
import { AdminError } from '../admin/admin-error.ts'
import type { DemoTrace } from './parts.ts'
import { demoTraces } from './traces.ts'

export interface RecordedTrace {
  readonly id: string
  readonly name: string
  readonly state: 'ok' | 'error' | 'unset' | 'running'
  readonly scores: number
}

/** Records so many at the server under `address`, one after the other. Says how many are recorded after each. */
export async function recordDemo(
  address: string,
  key: string,
  count?: number,
  onRecorded: (recorded: number) => void = () => {}
): Promise<RecordedTrace[]> {
  const recorded: RecordedTrace[] = []
  for (const trace of demoTraces(Date.now(), count)) {
    await recordTrace((path, body) => post(address, key, path, body), trace)
    const { id, name, status } = trace.body.trace
    const state = status ?? trace.end?.status ?? 'running'
    recorded.push({ id, name, state, scores: trace.scores?.length ?? 0 })
    onRecorded(recorded.length)
  }
  return recorded
}

async function recordTrace(send: (path: string, body: unknown) => Promise<void>, trace: DemoTrace): Promise<void> {
  const path = `/api/v1/traces/${trace.body.trace.id}`
  await send('/api/v1/traces', trace.body)
  if (trace.appended !== undefined) await send(`${path}/spans`, { schemaVersion: 1, spans: trace.appended })
  if (trace.end !== undefined) await send(`${path}/end`, trace.end)
  for (const score of trace.scores ?? []) await send(`${path}/scores`, score)
}

async function post(address: string, key: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(address + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body)
  }).catch(error => {
    // The message of fetch is always `fetch failed`.
    throw new AdminError(`no answer from ${address}: ${error.cause?.message || error.cause?.code || error.message}`)
  })
  const text = await response.text()
  if (!response.ok) throw new AdminError(`the server refused POST ${path}: ${response.status} ${text}`)
}
