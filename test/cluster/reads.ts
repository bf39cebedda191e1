/**
 * Compares the speed of reads on a cluster with that on a plain PostgreSQL server with the same version, data and
 * settings. The measurements take turns. The data is generated in a database of the coordinator. That database is
 * copied, and the copy is distributed over the nodes, so the comparison also tests the distribution of a filled
 * database.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { createAccount } from '../../lib/admin/accounts.ts'
import type { SocketTarget } from '../../lib/database/connection.ts'
import { connectTo } from '../../lib/database/connection.ts'
import { migrate } from '../../lib/database/migrate.ts'
import { createLog } from '../../lib/log.ts'
import { ingestBody } from '../bench/bodies/bodies.ts'
import { makeCases, type ReadCase } from '../bench/reads/cases.ts'
import { fillProject } from '../bench/reads/fill.ts'
import { measureInTurns } from '../bench/reads/measure.ts'
import { hexId } from '../fixtures/bodies/bodies.ts'
import { databaseAt, runOn } from '../fixtures/database/database.ts'
import { withDatabaseAt } from '../fixtures/database/target.ts'
import { joinNodes, type Nodes } from './nodes.ts'
import { makeProject } from './projects.ts'
import { startServer, withServer } from './server.ts'
import { distribute } from './template.ts'

const [PLAIN, SPREAD] = ['plain', 'spread']
const SHARDS = 8
/** Number of traces that are recorded through the API, with their spans. Reads of details use these traces. */
const DETAILS = 100
const REQUESTS = 200
const WARM_UP_MS = 2000
/** A selection of the reads benchmark's cases, at least one of each kind. */
const CASES = [
  'health',
  'newest',
  'slowest',
  'name: frequent',
  'model: rare',
  'status: rare',
  'environment: frequent',
  'tag: rare',
  'user: frequent',
  'status and environment',
  'slowest, tag: frequent',
  'costliest, two filters',
  'newest, page 1000',
  'slowest by name, back from page 1000',
  'a period of 500, by name',
  'scores',
  'scores: name',
  'scores: name, environment',
  'project'
]

/** Measures the reads and prints a table. */
export async function compareReads({ coordinator, workers }: Nodes, traces: number): Promise<void> {
  const on = (name: string) => withDatabaseAt(coordinator.target, name) as SocketTarget
  await runOn(coordinator.target, `create database ${PLAIN}`)
  const { key, cases } = await fill(on(PLAIN), traces)
  await runOn(coordinator.target, `create database ${SPREAD} template ${PLAIN}`)
  for (const { target } of workers) await runOn(target, `create database ${SPREAD}`)
  const start = performance.now()
  await joinNodes(
    on(SPREAD),
    workers.map(({ target }) => withDatabaseAt(target, SPREAD) as SocketTarget)
  )
  await distribute(on(SPREAD), SHARDS)
  console.log(`${traces} traces distributed in ${Math.round((performance.now() - start) / 1000)} s`)
  for (const name of [PLAIN, SPREAD]) await runOn(on(name), 'analyze')
  const trip = await measureTrip(withDatabaseAt(workers[0]!.target, SPREAD) as SocketTarget)
  console.log(`a round trip to a worker takes ${trip.toFixed(2)} ms\n`)
  const servers = [await startServer(on(PLAIN), {}), await startServer(on(SPREAD), {})]
  try {
    for (const { address } of servers) await warmUp(address, key, cases)
    console.log('| read | plain, p50 ms | cluster, p50 ms | times |\n| --- | ---: | ---: | ---: |')
    for (const { name, path } of cases) {
      const plans = servers.map(({ address }) => ({
        port: Number(new URL(address).port),
        credentials: `Authorization: Bearer ${key}`,
        connections: 1,
        requests: REQUESTS,
        path,
        readTimes: () => undefined
      }))
      const [plain, spread] = (await measureInTurns(plans)).map(({ p50 }) => p50) as [number, number]
      console.log(`| ${name} | ${plain.toFixed(2)} | ${spread.toFixed(2)} | ${(spread / plain).toFixed(2)} |`)
    }
  } finally {
    for (const server of servers) await server.end('SIGTERM')
  }
}

/** Reads each case once, and gives the server time to find the project's shard. */
async function warmUp(address: string, key: string, cases: readonly ReadCase[]): Promise<void> {
  for (const { path } of cases) {
    await (await fetch(address + path(), { headers: { authorization: `Bearer ${key}` } })).arrayBuffer()
  }
  await delay(WARM_UP_MS)
}

/** Creates a project with this number of traces, and a key for it. */
async function fill(target: SocketTarget, traces: number): Promise<{ key: string; cases: ReadCase[] }> {
  await migrate(databaseAt(target), createLog('warn'))
  let filled: { key: string; cases: ReadCase[] } | undefined
  await withServer(target, {}, async ({ pool, server }) => {
    const { id, key } = await pool.run(async sql =>
      makeProject(sql, 'reads', (await createAccount(sql, 'reads', 'owner')).id)
    )
    const cases = await pool.run(async sql => {
      await fillProject([sql], { projectId: id, traces, firstNumber: 1_000_000 }, () => {})
      return makeCases(sql, id, traces)
    })
    const ids: string[] = []
    for (let n = 0; n < DETAILS; n++) ids.push(await record(server.address, key, n))
    filled = {
      key,
      cases: [
        ...CASES.map(name => cases.find(each => each.name === name)!),
        { name: 'detail, 8 spans', path: () => `/api/v1/traces/${ids[Math.floor(Math.random() * ids.length)]}` }
      ]
    }
  })
  return filled!
}

async function record(address: string, key: string, n: number): Promise<string> {
  const made = ingestBody('typical', n)
  const body = { ...made, trace: { ...made.trace, id: hexId(16) } }
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${address}/api/v1/traces`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`)
  return body.trace.id
}

/** Returns the median time of `select 1`, in ms. */
async function measureTrip(target: SocketTarget): Promise<number> {
  const sql = connectTo(target)
  try {
    const times: number[] = []
    for (let n = 0; n < REQUESTS; n++) {
      const start = performance.now()
      await sql`select 1`
      times.push(performance.now() - start)
    }
    return times.sort((a, b) => a - b)[REQUESTS / 2]!
  } finally {
    await sql.end({ timeout: 1 })
  }
}
