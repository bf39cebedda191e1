/**
 * Kills a worker and restarts it. Projects on other workers continue. Projects on the killed worker get 429 for writes
 * and 503 for reads, never another 5xx, and no answered write is lost.
 */
import { strict as assert } from 'node:assert'
import { setTimeout as delay } from 'node:timers/promises'
import type { SocketTarget } from '../../lib/database/connection.ts'
import { Client, forbidden, takeAnswers } from './load.ts'
import type { Nodes } from './nodes.ts'
import { makeProjects } from './projects.ts'
import { withServer } from './server.ts'

const PROJECTS = 8
const BEFORE_MS = 3000
const AWAY_MS = 8000
/** Maximum time until all projects are served again. */
const MOST_RECOVERY_MS = 120_000

/** Prints figures. Throws if a guarantee is broken. */
export async function tryOutage({ workers }: Nodes, target: SocketTarget): Promise<void> {
  await withServer(target, {}, async ({ pool, server }) => {
    const [lost] = workers
    const projects = await makeProjects(pool, 'outage', PROJECTS)
    const clients = projects.map(project => new Client(() => server.address, project))
    const away = clients.filter(({ project }) => project.node === lost?.target.socketDir)
    const others = clients.filter(client => !away.includes(client))
    const take = () => ({ away: takeAnswers(away), others: takeAnswers(others) })
    await delay(BEFORE_MS)
    const before = take()
    await lost?.pause('immediate')
    await delay(AWAY_MS)
    const during = take()
    await lost?.resume()
    const back = performance.now()
    let recoveredMs: number | undefined
    while (recoveredMs === undefined && performance.now() - back < MOST_RECOVERY_MS) {
      await delay(500)
      const results = await Promise.all(clients.map(client => client.record()))
      if (results.every(status => status === 201)) recoveredMs = Math.round(performance.now() - back)
    }
    for (const client of clients) await client.stop()
    const after = take()
    let missing = 0
    for (const client of clients) missing += await client.countMissing()
    const [left] = await pool.run(sql => sql`select count(*)::int as transactions from pg_dist_transaction`)
    console.log(JSON.stringify({ before, during, after, recoveredMs, missing, left }, null, 2))
    assert.equal(missing, 0, 'what was answered 201 is there')
    assert.ok(recoveredMs !== undefined, 'all projects are served again')
    assert.deepEqual(forbidden(...[before, during, after].flatMap(({ away, others }) => [away, others])), [])
    assert.deepEqual(Object.keys(during.others.statuses).sort(), ['201', 'r200'], 'the others go on')
  })
}
