/**
 * Adds a node (`citus_add_node`) and moves shards to it (`citus_rebalance_start`) while projects are served. Nothing is
 * lost, and requests are rejected only with allowed statuses, and only for projects that move.
 */
import { strict as assert } from 'node:assert'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { SocketTarget } from '../../lib/database/connection.ts'
import { addProject } from '../bench/reads/fill.ts'
import { runOn } from '../fixtures/database/database.ts'
import { withDatabaseAt } from '../fixtures/database/target.ts'
import { until } from '../fixtures/until.ts'
import { Client, forbidden, takeAnswers } from './load.ts'
import type { Nodes } from './nodes.ts'
import { makeProjects, placeOf } from './projects.ts'
import { withServer } from './server.ts'
import { makeDistributedDatabase } from './template.ts'

const DATABASE = 'spoor'
/** Number of the database's shards, which move one by one. */
const SHARDS = 12
const PROJECTS = 12
/** Number of traces stored in each project beforehand. */
const TRACES_EACH = 10_000
const BEFORE_MS = 5000
const MOST_MOVING_MS = 600_000
/** Shards are copied by logical replication, so that writers wait only for the end of each move. */
export const GROWING_SETTINGS = { synchronous_commit: 'on', wal_level: 'logical' }

/** Starts with all nodes except the last. Prints figures. Throws if a guarantee is broken. */
export async function tryGrowth({ coordinator, workers }: Nodes): Promise<void> {
  const added = workers.at(-1)!
  const first = workers.slice(0, -1)
  await makeDistributedDatabase(
    { coordinator: coordinator.target, workers: first.map(({ target }) => target) },
    DATABASE,
    SHARDS
  )
  await runOn(added.target, `create database ${DATABASE}`)
  await runOn(withDatabaseAt(added.target, DATABASE), 'create extension citus')
  const target = withDatabaseAt(coordinator.target, DATABASE) as SocketTarget
  await withServer(target, {}, async ({ pool, server }) => {
    const projects = await makeProjects(pool, 'growing', PROJECTS)
    await pool.run(async sql => {
      for (const [i, { id }] of projects.entries())
        await addProject(sql, { projectId: id, traces: TRACES_EACH, firstNumber: 1_000_000 + i * TRACES_EACH })
    })
    const clients = projects.map(project => new Client(() => server.address, project))
    await delay(BEFORE_MS)
    const before = takeAnswers(clients)
    const { socketDir, port } = added.target
    const start = performance.now()
    await pool.run(sql => sql`select citus_add_node(${socketDir}, ${port})`)
    await pool.run(sql => sql`select citus_rebalance_start()`)
    await until(() => pool.run(isBalanced), MOST_MOVING_MS)
    const tookMs = Math.round(performance.now() - start)
    const places = await pool.run(sql => Promise.all(projects.map(({ id }) => placeOf(sql, id))))
    const moved = clients.filter((_, i) => places[i]?.node === socketDir)
    const during = { moved: takeAnswers(moved), others: takeAnswers(clients.filter(each => !moved.includes(each))) }
    await delay(BEFORE_MS)
    for (const client of clients) await client.stop()
    const after = takeAnswers(clients)
    let missing = 0
    for (const client of clients) missing += await client.countMissing()
    const [shards] = await pool.run(
      sql => sql`
        select count(*)::int as count, sum(shard_size)::float8 as bytes from citus_shards where nodename = ${socketDir}`
    )
    console.log(
      JSON.stringify({ before, during, after, tookMs, moved: { projects: moved.length, ...shards } }, null, 2)
    )
    assert.equal(missing, 0, 'what was answered 201 is there')
    assert.ok(moved.length > 0, 'projects have moved')
    assert.deepEqual(forbidden(before, during.moved, during.others, after), [])
    assert.deepEqual(Object.keys(after.statuses).sort(), ['201', 'r200'], 'afterwards nothing is refused')
  })
}

async function isBalanced(sql: Sql): Promise<boolean> {
  const [job] = await sql<{ state: string; details: unknown }[]>`
    select state::text as state, details::text as details from citus_rebalance_status()`
  if (job !== undefined && ['failed', 'cancelled'].includes(job.state))
    throw new Error(`rebalancing ${job.state}: ${job.details}`)
  return job === undefined || job.state === 'finished'
}
