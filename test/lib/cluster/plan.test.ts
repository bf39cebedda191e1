import t from 'tap'
import { readDistributionPlan } from '../../../lib/cluster/distribution.ts'
import { type FoundCluster, type FoundTable, planDistribution } from '../../../lib/cluster/plan.ts'
import { LOCAL_TABLES, PROJECT_TABLES } from '../../../lib/database/tables.ts'
import { isOnCluster, testDatabase } from '../../fixtures/database/database.ts'

const COORDINATOR = {
  name: 'c',
  port: 5432,
  isActive: true,
  isCoordinator: true,
  holdsShards: false,
  hindrance: undefined
}
const WORKER = { ...COORDINATOR, name: 'w1', isCoordinator: false, holdsShards: true }
const table = (name: FoundTable['name'], more: Partial<FoundTable> = {}): FoundTable => ({
  name,
  rows: 10,
  localBytes: 8192,
  isOurs: true,
  distributed: undefined,
  ...more
})
const laid = (name: FoundTable['name']) =>
  table(name, { localBytes: 0, distributed: { column: 'project_id', shards: 32, colocation: 1 } })
const found = (more: Partial<FoundCluster> = {}): FoundCluster => ({
  citus: '13.2-1',
  isAvailable: true,
  nodes: [COORDINATOR, WORKER],
  tables: PROJECT_TABLES.map(name => table(name)),
  users: [],
  ...more
})

t.test('traces come first, and other tables are colocated with them', async t => {
  const { obstacles, steps, done } = planDistribution(found())
  t.same(obstacles, [])
  t.same(done, [])
  t.same(
    steps.map(({ table, beside, shards }) => [table, beside, shards]),
    PROJECT_TABLES.map(name => (name === 'traces' ? [name, undefined, 32] : [name, 'traces', undefined]))
  )
  t.equal(planDistribution(found(), 64).steps[0]?.shards, 64)
})

t.test('after an interruption, the remaining tables are distributed', async t => {
  const tables = PROJECT_TABLES.map((name, i) => (i < 3 ? laid(name) : table(name)))
  const { steps, done, obstacles } = planDistribution(found({ tables }))
  t.same(obstacles, [])
  t.same(done, ['traces', 'spans', 'scores'])
  t.same(
    steps.map(step => step.table),
    PROJECT_TABLES.slice(3)
  )
  t.same(planDistribution(found({ tables: PROJECT_TABLES.map(laid) })).steps, [])
})

t.test('obstacles are reported, with remedies', async t => {
  const elsewhere = { ...laid('spans'), distributed: { column: 'project_id', shards: 32, colocation: 2 } }
  const byName = { ...laid('spans'), distributed: { column: 'name', shards: 32, colocation: 1 } }
  for (const [claim, more, rule] of [
    ['no extension', { citus: undefined, nodes: [] }, /create extension citus/],
    ['no Citus', { citus: undefined, isAvailable: false, nodes: [] }, /install it on every node/],
    ['an old Citus', { citus: '11.3-1' }, /too old/],
    ['no worker', { nodes: [COORDINATOR] }, /citus_add_node/],
    ['no coordinator', { nodes: [WORKER] }, /citus_set_coordinator_host/],
    ['an unreachable node', { nodes: [COORDINATOR, { ...WORKER, isActive: false }] }, /w1:5432 is not active/],
    ['no privilege there', { nodes: [COORDINATOR, { ...WORKER, hindrance: 'it may not' }] }, /w1:5432: it may not/],
    ['servers', { users: ['spoor[1/1] writer', 'spoor[1/1] reader'] }, /Other spoor processes are connected .*stop/],
    ['tables of other owners', { tables: [table('traces', { isOurs: false })] }, /traces belongs to another role/],
    ['another column', { tables: [laid('traces'), byName] }, /spans is distributed by name: run undistribute_table/],
    ['another place', { tables: [laid('traces'), elsewhere] }, /spans is not colocated with traces/]
  ] as const) {
    t.match(planDistribution(found(more as Partial<FoundCluster>)).obstacles.join('\n'), rule, claim)
  }
  const tables = PROJECT_TABLES.map(laid)
  t.match(planDistribution(found({ tables }), 64).obstacles.join(), /traces already has 32 shards/)
  t.same(planDistribution(found({ tables }), 32).obstacles, [])
})

/**
 * Tables that belong to projects but stay on the coordinator, because they are queried before the project is known, or
 * together with people.
 */
const OF_PROJECTS = [
  'api_keys',
  'audit',
  'model_prices',
  'public_links',
  'review_leases',
  'saved_views',
  'score_definitions',
  'unkept_records',
  'unpriced_models'
]

t.test('each table in the schema has its distribution, and distributed tables allow it', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    const tables = await sql<{ name: string }[]>`
      select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`
    t.same(
      tables.map(({ name }) => name).sort(),
      [...PROJECT_TABLES, ...LOCAL_TABLES].sort(),
      'a new table is named in lib/database/tables.ts'
    )
    const owned = await sql<{ name: string }[]>`
      select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'project_id' and table_name in ${sql([...LOCAL_TABLES])} order by 1`
    t.same(
      owned.map(({ name }) => name),
      OF_PROJECTS,
      "a project's tables are distributed, except small ones"
    )
    const unique = await sql<{ table: string; first: string }[]>`
      select c.relname as table, a.attname as first from pg_index i
      join pg_class c on c.oid = i.indrelid
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indisunique and c.relname = any (${[...PROJECT_TABLES]}::text[])`
    t.ok(unique.length > 0)
    for (const { table, first } of unique) t.equal(first, 'project_id', `a unique index of ${table}`)
    const { obstacles, steps, done } = await readDistributionPlan(sql)
    if (isOnCluster()) t.same([steps, done], [[], PROJECT_TABLES])
    else t.match([obstacles.join('\n'), steps.length], [/This PostgreSQL does not have Citus/, PROJECT_TABLES.length])
  })
})
