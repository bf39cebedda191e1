/**
 * Moves shards between nodes in both of Citus's modes, and gives a project its own shard, while batches are written
 * directly into the shards' tables. No answered write is lost, and no write is rejected permanently.
 */
import { strict as assert } from 'node:assert'
import { isolateProject } from '../../lib/cluster/shards.ts'
import { connectTo, type SocketTarget } from '../../lib/database/connection.ts'
import type { Pool } from '../../lib/database/pool.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../fixtures/database/seed.ts'
import { withDatabaseAt } from '../fixtures/database/target.ts'
import { until } from '../fixtures/until.ts'
import { Witness } from '../torture/load/witness.ts'
import type { Nodes } from './nodes.ts'
import { makeProjects } from './projects.ts'
import { withServer } from './server.ts'

const PROJECTS = 8
const ROUNDS = 12
const MODES = ['block_writes', 'force_logical'] as const
/** Number of 2xx responses of each project between two moves. */
const ENOUGH = 20
const MOST_MS = 120_000

/** Prints figures. Throws if a guarantee is broken. */
export async function tryMoves({ workers }: Nodes, target: SocketTarget): Promise<void> {
  await withServer(target, { PROCESSES: '2' }, async ({ pool, server }) => {
    const projects = await makeProjects(pool, 'moving', PROJECTS)
    const witnesses = projects.map(({ id, key }) => new Witness(() => server.address, key, String(id)))
    const nodes = workers.map(worker => withDatabaseAt(worker.target, target.database))
    const moves: Record<string, number> = { block_writes: 0, force_logical: 0, isolated: 0 }
    let longestMs = 0
    try {
      await untilUnderWay(witnesses)
      for (let round = 0; round < ROUNDS; round++) {
        await until(async () => (await Promise.all(nodes.map(countWriters))).every(count => count > 0), MOST_MS)
        const start = performance.now()
        const mode = MODES[round % MODES.length] as (typeof MODES)[number]
        const project = projects[round % PROJECTS]!
        if (round === ROUNDS / 2) {
          await pool.run(sql => isolateProject(sql, project.id))
          moves.isolated!++
        } else {
          await moveShard(pool, project.id, mode)
          moves[mode]!++
        }
        longestMs = Math.max(longestMs, Math.round(performance.now() - start))
        await untilUnderWay(witnesses)
      }
      for (const witness of witnesses) await witness.stop()
      for (const witness of witnesses) await witness.check()
      const counts = witnesses.map(({ counts }) => counts)
      console.log(JSON.stringify({ moves, longestMs, counts }, null, 2))
      const wrong = witnesses.flatMap(witness => witness.wrong)
      assert.deepEqual(wrong.slice(0, 5), [], 'every answer and every trace is as the model has it')
      await pool.run(async sql => {
        assert.deepEqual(await countOrphans(sql), NO_ORPHANS, 'every number is that of its rows')
        assert.deepEqual(await countStrays(sql), NO_STRAYS)
      })
    } finally {
      for (const witness of witnesses) await witness.stop()
    }
  })
}

/** Moves a project's shard, and all shards placed with it, to the other node. */
async function moveShard(pool: Pool, projectId: number, mode: string): Promise<void> {
  await pool.run(
    sql => sql`
      select citus_move_shard_placement(s.shardid, s.nodename, s.nodeport, n.nodename, n.nodeport,
        shard_transfer_mode => ${mode}::citus.shard_transfer_mode)
      from citus_shards s join pg_dist_node n on n.shouldhaveshards and n.nodename <> s.nodename
      where s.shardid = get_shard_id_for_distribution_column('traces', ${projectId}::int)`
  )
}

async function untilUnderWay(witnesses: readonly Witness[]): Promise<void> {
  const before = witnesses.map(({ counts }) => counts.answered2xx)
  await until(
    () => witnesses.every(({ counts, wrong }, i) => wrong.length > 0 || counts.answered2xx >= before[i]! + ENOUGH),
    MOST_MS
  )
}

/** Counts the lanes' connections to a node. The coordinator's connections are not counted. */
async function countWriters(target: Parameters<typeof connectTo>[0]): Promise<number> {
  const sql = connectTo(target)
  try {
    const [row] = await sql<[{ count: number }]>`
      select count(*)::int as count from pg_stat_activity where application_name like 'spoor[%] writer'`
    return row.count
  } finally {
    await sql.end({ timeout: 1 })
  }
}
