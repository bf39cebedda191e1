import t from 'tap'
import { nodeProblems, readPlacement } from '../../../lib/cluster/placement.ts'
import { isOnCluster, testDatabase } from '../../fixtures/database/database.ts'

const node = (name: string, bytes: number, isActive = true) => ({ name, port: 5432, isActive, shards: 16, bytes })

t.test('a node that is unreachable, or has far more than its share, is named', t => {
  t.same(nodeProblems([]), [])
  t.same(nodeProblems([node('a', 4e9), node('b', 6e9)]), [])
  t.same(nodeProblems([node('a', 1e6), node('b', 9e6)]), [], 'while there is little data')
  t.match(nodeProblems([node('a', 1e9), node('b', 9e9)]), [/b:5432 holds 90 % of all: .*citus_rebalance_start/])
  t.match(nodeProblems([node('a', 4e9, false), node('b', 4e9)]), [/a:5432 is not active/])
  t.end()
})

t.test('a single PostgreSQL has no nodes, and a cluster has those that hold shards', async t => {
  const { pool } = await testDatabase(t)
  const nodes = await pool.run(readPlacement)
  if (isOnCluster())
    t.match(nodes, [
      { shards: 2, isActive: true },
      { shards: 2, bytes: Number }
    ])
  else t.equal(nodes, undefined)
})
