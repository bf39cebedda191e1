/**
 * A worker that is killed and comes back: projects of the other workers go on, those of this one get 429 for writes and 503 for
 * reads, never a 5xx of another kind, and nothing that was answered is lost.
 */
import { strict as assert } from 'node:assert'
import { setTimeout as delay } from 'node:timers/promises'
import { claimSecret } from '../../lib/access/digest-secret.ts'
import { readConfig } from '../../lib/config.ts'
import type { SocketTarget } from '../../lib/database/connection.ts'
import { Pool } from '../../lib/database/pool.ts'
import { createLog } from '../../lib/log.ts'
import { startService } from '../../lib/service.ts'
import { plugins } from '../../plugins/index.ts'
import { ingestBody, span } from '../fixtures/bodies/bodies.ts'
import { databaseAt } from '../fixtures/database/database.ts'
import type { Nodes } from './nodes.ts'
import { makeProjects } from './projects.ts'

const PROJECTS = 8
const AWAY_MS = 8000
/** Citus looks every minute for transactions that were left in two phases. */
const MOST_RECOVERY_MS = 120_000

interface Client {
  readonly key: string
  readonly shard: number
  readonly isAway: boolean
  readonly stored: string[]
  readonly answers: Map<string, number>
}

/** Prints figures, and throws if what is promised is not kept. */
export async function tryOutage({ workers }: Nodes, target: SocketTarget): Promise<void> {
  const database = databaseAt(target)
  const pool = new Pool(onClose => database.connect({ onClose }), { size: 2 })
  const log = createLog('error')
  await pool.run(sql => claimSecret(sql, database.digestSecret as string))
  const service = await startService(readConfig({ PORT: '0', WORKERS: '1' }), log, database, { plugins })
  try {
    const [lost] = workers
    const clients = await makeClients(pool, lost?.target.socketDir as string)
    const isOver = { value: false }
    const sending = Promise.all(clients.map(client => send(service.url, client, isOver)))
    await delay(3000)
    const before = count(clients)
    await lost?.pause('immediate')
    await delay(AWAY_MS)
    const during = count(clients)
    await lost?.resume()
    const back = performance.now()
    let recoveredMs: number | undefined
    while (recoveredMs === undefined && performance.now() - back < MOST_RECOVERY_MS) {
      await delay(500)
      const results = await Promise.all(clients.map(({ key }) => record(service.url, key)))
      if (results.every(({ status }) => status === 201)) recoveredMs = Math.round(performance.now() - back)
    }
    isOver.value = true
    await sending
    let missing = 0
    for (const { key, stored } of clients) {
      for (const id of stored) if ((await ask(service.url, key, `/api/v1/traces/${id}`)) !== 200) missing++
    }
    const [left] = await pool.run(sql => sql`select count(*)::int as transactions from pg_dist_transaction`)
    const figures = { before, during, after: count(clients), recoveredMs, missing, left }
    console.log(JSON.stringify(figures, null, 2))
    assert.equal(missing, 0, 'what was answered 201 is there')
    assert.ok(recoveredMs !== undefined, 'all projects are served again')
    for (const { answers } of clients) {
      for (const status of answers.keys())
        assert.ok(['201', '429', 'r200', 'r503'].includes(status), `${status} was answered`)
    }
  } finally {
    await service.close()
    await pool.end()
  }
}

async function makeClients(pool: Pool, away: string): Promise<Client[]> {
  const projects = await makeProjects(pool, 'outage', PROJECTS)
  return projects.map(({ key, shard, node }) => ({
    key,
    shard,
    isAway: node === away,
    stored: [],
    answers: new Map<string, number>()
  }))
}

async function send(url: string, client: Client, isOver: { value: boolean }): Promise<void> {
  const note = (status: string) => client.answers.set(status, (client.answers.get(status) ?? 0) + 1)
  while (!isOver.value) {
    const { status, id } = await record(url, client.key)
    note(String(status))
    if (status === 201) client.stored.push(id)
    note(`r${await ask(url, client.key, '/api/v1/traces?limit=1')}`)
    await delay(20)
  }
}

async function record(url: string, key: string): Promise<{ status: number; id: string }> {
  const body = ingestBody({ spans: [span()] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/v1/traces`, { method: 'POST', headers, body: JSON.stringify(body) })
  await answer.arrayBuffer()
  return { status: answer.status, id: body.trace.id }
}

async function ask(url: string, key: string, path: string): Promise<number> {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
  await answer.arrayBuffer()
  return answer.status
}

/** The answers of the projects whose node goes away, and of the others. */
function count(clients: readonly Client[]) {
  const sum = (own: readonly Client[]) => {
    const all: Record<string, number> = {}
    for (const { answers } of own) for (const [status, n] of answers) all[status] = (all[status] ?? 0) + n
    return all
  }
  return { away: sum(clients.filter(({ isAway }) => isAway)), others: sum(clients.filter(({ isAway }) => !isAway)) }
}
