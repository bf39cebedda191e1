/**
 * Tests a lane that writes to shards. On a single PostgreSQL server, this file creates what a node of a cluster has:
 * tables with the names of shards, and the parts of Citus that batches query. `npm run cluster -- --move` tests the
 * lane on a cluster.
 */
import t, { type Test } from 'tap'
import { GUARDS } from '../../../lib/cluster/routes.ts'
import { CopyConnection } from '../../../lib/database/copy-connection.ts'
import { Pool } from '../../../lib/database/pool.ts'
import { PROJECT_TABLES, type TableNames } from '../../../lib/database/tables.ts'
import type { Pending } from '../../../lib/ingest/pending.ts'
import { StateCache } from '../../../lib/ingest/state-cache.ts'
import { Writer } from '../../../lib/ingest/writer.ts'
import { createLog } from '../../../lib/log.ts'
import { KnownFloors } from '../../../lib/store/rankings/known-floors.ts'
import { SearchedProjects } from '../../../lib/store/search/searched-projects.ts'
import type { Home, Homes } from '../../../lib/store/write/homes.ts'
import { endBody, ingestBody, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { testRelay } from '../../fixtures/database/relay.ts'
import { makePending } from './make-pending.ts'

const NODE = { host: 'node', port: 5432 }
/** The shards of projects 1 and 2. */
const SHARDS = [102_001, 102_002].map(
  (id): Home => ({
    id,
    names: Object.fromEntries(PROJECT_TABLES.map(table => [table, `shards.${table}_${id}`])) as TableNames
  })
)
const homes: Homes = { of: projectId => SHARDS[projectId - 1] as Home, guards: GUARDS }

const database = await testDatabase(t)
await database.pool.run(async sql => {
  await sql.unsafe('create schema shards')
  for (const { names } of SHARDS) {
    for (const [table, name] of Object.entries(names))
      await sql.unsafe(`create table ${name} (like ${table} including all)`)
  }
  await sql.unsafe(`create schema node; create table node.pg_dist_local_group as select 1 as groupid;
    create table node.pg_dist_placement as select shardid, 1 as groupid from unnest('{102001,102002}'::bigint[]) shardid;
    create function node.lock_shard_metadata(int, shards bigint[]) returns void language sql
      as 'select pg_advisory_xact_lock_shared(shard) from unnest(shards) shard'`)
  // The search path puts these replacements before Citus's own objects of the same names.
  const [{ name }] = await sql<[{ name: string }]>`select current_database() as name`
  await sql.unsafe(`alter database ${name} set search_path = node, public, pg_catalog`)
})

/** Returns a lane, the operations that it sent back to the queue, and its reports about nodes. */
function lane(t: Test, connect = database.connect) {
  const pool = new Pool(onClose => database.connect({ onClose }), { size: 1 })
  const sentBack: Pending[] = []
  const told: string[] = []
  const routes = {
    forget: () => void told.push('moved'),
    avoid: () => void told.push('away'),
    hold: (shard: number) => void told.push(`held ${shard}`)
  }
  const again = (pending: Pending) => void sentBack.push(pending)
  const searched = new SearchedProjects()
  const options = {
    slot: 1,
    routes,
    running: new StateCache(),
    floors: new KnownFloors(),
    searched,
    again,
    failures: { fail() {} },
    log: createLog('silent')
  }
  const serverOf = () => ({
    open: () => CopyConnection.open(connect, { settings: { lock_timeout: '50ms' } }),
    limit: database.limit
  })
  const writer = new Writer(pool, serverOf, options)
  t.teardown(() => writer.close())
  t.teardown(() => pool.end())
  const write = (...batch: readonly { readonly pending: Pending }[]) =>
    writer.process(
      batch.map(({ pending }) => pending),
      { host: NODE, homes }
    )
  return { write, sentBack, told }
}

const recording = (projectId: number, body: ReturnType<typeof ingestBody> = ingestBody({ spans: [span()] })) =>
  makePending(projectId, 'record', body.trace.id, body)
const readShard = ({ names }: Home) =>
  database.pool.run(async sql => {
    const [row] = await sql.unsafe(`
      select (select json_agg(json_build_array(project_id, status, span_count) order by started_at, id) from ${names.traces})::text as traces,
        (select count(*)::int from ${names.spans}) as spans, (select count(*)::int from ${names.trace_families}) as families,
        (select json_agg(json_build_array(project_id, traces, spans)) from ${names.project_totals})::text as totals`)
    return { ...row, traces: JSON.parse(row?.traces), totals: JSON.parse(row?.totals) }
  })

t.test("a shard's rows are written to its tables, in one transaction", async t => {
  const { write, sentBack, told } = lane(t)
  const running = startBody()
  const batch = [recording(1), recording(2), recording(2), recording(1, running as never)]
  await write(...batch)
  for (const { answer } of batch) t.match(answer(), { type: 'insert' })
  const append = makePending(1, 'append', running.trace.id, spansBody(span(), span()))
  const beside = recording(2)
  await write(append, beside)
  t.match(append.answer(), { type: 'change', added: 2 })
  t.match(beside.answer(), { type: 'insert' })
  const end = makePending(1, 'end', running.trace.id, endBody({ status: 'ok' }))
  await write(end)
  t.match(end.answer(), { type: 'change' })
  const [one, two] = await Promise.all(SHARDS.map(readShard))
  t.match(one, { spans: 3, families: 3, totals: [[1, 2, 3]] })
  t.strictSame(one?.traces.map((trace: unknown[]) => trace.slice(1)).sort(), [
    ['ok', 2],
    ['unset', 1]
  ])
  t.match(two, { spans: 3, families: 1, totals: [[2, 3, 3]] })
  t.strictSame([sentBack, told], [[], []])
})

t.test('if a shard has moved, nothing of the batch is written, and it takes another route', async t => {
  const { write, sentBack, told } = lane(t)
  const before = await Promise.all(SHARDS.map(readShard))
  await database.pool.run(sql => sql`update node.pg_dist_placement set groupid = 2 where shardid = 102002`)
  const batch = [recording(1), recording(2)]
  t.equal(await write(...batch), undefined)
  t.strictSame(
    sentBack,
    batch.map(({ pending }) => pending)
  )
  t.strictSame(told, ['moved'])
  t.strictSame(await Promise.all(SHARDS.map(readShard)), before)
  await database.pool.run(sql => sql`update node.pg_dist_placement set groupid = 1`)
  await write(...batch)
  t.match(
    batch.map(({ answer }) => answer()),
    [{ type: 'insert' }, { type: 'insert' }]
  )
})

t.test('while a shard is being moved, other shards are written, and its own rows wait', async t => {
  const { write, sentBack, told } = lane(t)
  const batch = [recording(2), recording(1)]
  await database.pool.run(async sql => {
    await sql`select pg_advisory_lock(102002)`
    t.equal(await write(...batch), undefined)
    await sql`select pg_advisory_unlock(102002)`
  })
  t.match(batch[1]?.answer(), { type: 'insert' })
  t.strictSame(sentBack, [batch[0]?.pending])
  t.strictSame(told, ['held 102002'])
  await write(batch[0]!)
  t.match(batch[0]?.answer(), { type: 'insert' })
})

t.test('if a node is unreachable, the batch takes another route', async t => {
  const relay = await testRelay(t, database.target)
  const { write, sentBack, told } = lane(t, relay.connect)
  relay.cut()
  const { pending } = recording(1)
  t.equal(await write({ pending }), undefined, 'the database itself can be reached')
  t.strictSame(sentBack, [pending])
  t.strictSame(told, ['away'])
})
