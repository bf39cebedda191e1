/**
 * Tests reads that go directly to a project's node. On a single PostgreSQL server, views replace the shard's tables,
 * and two tables replace Citus's metadata. On a cluster (test/cluster), the shard and the metadata are real.
 */
import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { type Directory, NearReads } from '../../../lib/cluster/near-reads.ts'
import { Routes } from '../../../lib/cluster/routes.ts'
import type { Shard } from '../../../lib/cluster/shards.ts'
import { createSqlAccess, ELSEWHERE, type ProjectRead } from '../../../lib/database/sql-access.ts'
import { PROJECT_TABLES, SCHEMA_NAMES, type TableNames } from '../../../lib/database/tables.ts'
import { createLog } from '../../../lib/log.ts'
import type { TraceSearchQuery } from '../../../lib/schema/history/search.ts'
import { readSpan, readTraceBody, TEXT_PARTS } from '../../../lib/store/answers/outline.ts'
import { fetchTrace, measureTrace, readTraceDetail, renderPieces } from '../../../lib/store/answers/traces.ts'
import { groupFailures } from '../../../lib/store/failures/read-failures.ts'
import { findTracePage } from '../../../lib/store/finding/find-traces.ts'
import { readFoundSummaries } from '../../../lib/store/finding/found-summaries.ts'
import { explainEmpty } from '../../../lib/store/hints/explain-empty.ts'
import { readFacets, readScoreNames } from '../../../lib/store/lists/facets.ts'
import { listScores } from '../../../lib/store/lists/score-list.ts'
import { readTracesById } from '../../../lib/store/lists/summary-page.ts'
import { listTraces } from '../../../lib/store/lists/trace-list.ts'
import { readProjectNear } from '../../../lib/store/projects/projects.ts'
import { readSearchState } from '../../../lib/store/search/state.ts'
import { listSpans } from '../../../lib/store/spans/span-list.ts'
import { readAuthor, readTraceScores } from '../../../lib/store/trace/scores.ts'
import { readSearch } from '../../../plugins/search.ts'
import { fullInstance } from '../../fixtures/database/backups.ts'
import { isOnCluster, type TestDatabase, testDatabase } from '../../fixtures/database/database.ts'
import { isOnTraces } from '../../fixtures/statements/lint.ts'
import { Recording, recorded } from '../../fixtures/statements/record.ts'
import { until } from '../../fixtures/until.ts'

/** Values that no trace has, one for each kind of hint. */
const HINTED = [
  { name: 'none', model: 'none', environment: 'none', userId: 'none', sessionId: 'none' },
  { tags: ['none'], tagKey: 'none', step: 'none', stepModel: 'none', scores: ['none'] },
  { userPrefix: 'none', sessionPrefix: 'none', from: '2030-01-01T00:00:00.000Z' }
]
const ALL_TIMES = { from: '0001-01-01T00:00:00.000Z', to: '9999-12-31T00:00:00.000Z' }
const PROJECT = 1
const SHARD = 102008
const names = Object.fromEntries(PROJECT_TABLES.map(name => [name, `${name}_${SHARD}`])) as TableNames
const local: Shard = { id: SHARD, node: { id: 1, host: 'localhost', port: 5432 }, names }

/** Creates the views and the metadata of the coordinator and the nodes. */
async function standIn(sql: Sql): Promise<void> {
  for (const [name, own] of Object.entries(names)) await sql.unsafe(`create view ${own} as select * from ${name}`)
  await sql.unsafe(`
    create table pg_dist_local_group as select 1 as groupid;
    create table pg_dist_placement as select ${SHARD}::bigint as shardid, 1 as groupid`)
}

/** A directory and the calls that it received. */
interface Told {
  readonly directory: Directory
  readonly told: string[]
}

async function directoryOf(t: Test, { pool, node }: TestDatabase): Promise<Told> {
  const told: string[] = []
  const routes = new Routes(work => pool.run(work), node, createLog('silent'))
  t.teardown(() => routes.close())
  if (isOnCluster()) {
    await until(() => {
      routes.learn([{ projectId: PROJECT }])
      return routes.shardOf(PROJECT) !== undefined
    })
  } else await pool.run(standIn)
  const directory: Directory = {
    shardOf: project => (isOnCluster() ? routes.shardOf(project) : local),
    learn() {},
    forget: () => told.push('forget'),
    avoid: () => told.push('avoid')
  }
  return { directory, told }
}

async function nearOf(
  t: Test,
  database: TestDatabase,
  { directory }: Told,
  recording = new Recording()
): Promise<NearReads> {
  const nodeOf: typeof database.node = host => recorded(isOnCluster() ? database.node(host) : database, recording)
  const near = new NearReads(nodeOf, directory, { connection: {}, size: 2 })
  t.teardown(() => near.end())
  return near
}

t.test("a statement's step or alias may have the name of a table", async t => {
  const database = await testDatabase(t)
  const near = await nearOf(t, database, await directoryOf(t, database))
  const named = (sql: Sql, { traces, spans }: TableNames) => sql`
    with scores as (select 1 as one), counted as (select count(*)::int as none from ${sql.unsafe(traces)} spans)
    select one, none, (select count(*)::int from ${sql.unsafe(spans)} traces) as "noneEither" from scores, counted`
  const expected = [{ one: 1, none: 0, noneEither: 0 }]
  t.same(await database.pool.run(sql => named(sql, SCHEMA_NAMES)), expected)
  t.same(await near.read(PROJECT, named), expected)
})

t.test("every read of a project returns the same result on the project's node", async t => {
  const { database } = await fullInstance(t)
  const told = await directoryOf(t, database)
  const recording = new Recording()
  const near = await nearOf(t, database, told, recording)
  const [one] = await database.pool.run(
    sql => sql`
      select t.id, encode(s.id, 'hex') as span, encode(c.id, 'hex') as score from traces t
      join spans s on s.project_id = ${PROJECT} and s.trace_seq = t.seq
      join scores c on c.project_id = ${PROJECT} and c.trace_seq = t.seq
      where t.project_id = ${PROJECT} order by t.seq limit 1`
  )
  const { id, span, score } = one as { id: string; span: string; score: string }
  const list = (query: object) => (sql: Sql, names: TableNames) =>
    listTraces(sql, PROJECT, { sort: 'newest', limit: 5, ...query }, names)
  const search = (query: TraceSearchQuery) => async (sql: Sql, names: TableNames) => {
    const page = await findTracePage(sql, PROJECT, readSearch(query), names)
    return [page, await readFoundSummaries(sql, PROJECT, page?.found ?? [], names)]
  }
  const searches: readonly TraceSearchQuery[] = [
    { errors: true, annotated: false, step: 'step', stepKind: 'llm', minTotalTokens: 0 },
    { error: 'timeout' },
    { score: ['quality<2', 'verdict=good'], minDurationMs: 1 },
    { tag: ['a', 'b'], userId: 'u' },
    { sort: 'slowest', from: '0001-01-01T00:00:00Z', model: 'm' },
    { sort: 'costliest', sessionId: 's', minDurationMs: 1 }
  ]
  const reads: readonly ProjectRead<unknown>[] = [
    ...searches.map(search),
    ...[{}, { sort: 'slowest' }, { sort: 'costliest', tag: 'a' }, { status: 'ok' }, { name: 'run 0' }].map(list),
    list({ tag: 'a', name: 'run 0', userId: 'nobody' }),
    list({ status: 'ok', before: { key: '2027-01-01T00:00:00.000Z', tie: 'f'.repeat(32), inclusive: false } }),
    (sql, names) => readTraceDetail(sql, PROJECT, id, names),
    (sql, names) => readTraceScores(sql, PROJECT, id, names),
    (sql, names) => listScores(sql, PROJECT, { limit: 5 }, names),
    (sql, names) => listScores(sql, PROJECT, { limit: 5, environment: 'production' }, names),
    (sql, names) => listSpans(sql, PROJECT, { limit: 5, texts: false, status: 'ok', trace: {} }, names),
    (sql, names) => listSpans(sql, PROJECT, { limit: 5, texts: false, sort: 'slowest', trace: { tag: 'a' } }, names),
    (sql, names) => listSpans(sql, PROJECT, { limit: 5, texts: true, traceId: id, trace: {} }, names),
    (sql, names) => groupFailures(sql, PROJECT, { trace: ALL_TIMES }, names),
    (sql, names) => groupFailures(sql, PROJECT, { trace: { ...ALL_TIMES, userId: 'nobody' } }, names),
    ...HINTED.map(
      (values): ProjectRead<unknown> =>
        (sql, names) =>
          explainEmpty(sql, PROJECT, { sought: 'trace', values: { ...values, traceId: id } }, names)
    ),
    (sql, names) => readFacets(sql, PROJECT, names),
    (sql, names) => readScoreNames(sql, PROJECT, names),
    (sql, names) => readTracesById(sql, PROJECT, [id], names),
    (sql, names) => readSpan(sql, PROJECT, id, span, names),
    (sql, names) => readTraceBody(sql, PROJECT, id, names),
    async (sql, names) =>
      Buffer.concat(await renderPieces((await fetchTrace(sql, PROJECT, id, names))!, TEXT_PARTS)).toString(),
    (sql, names) => readSearchState(sql, PROJECT, names),
    (sql, names) => measureTrace(sql, PROJECT, id, names),
    (sql, names) => readAuthor(sql, PROJECT, id, score, names)
  ]
  for (const read of reads) {
    const expected = await database.pool.run(sql => read(sql, SCHEMA_NAMES))
    t.ok(expected !== undefined, String(read))
    for (let n = 0; n < 2; n++) t.same(await near.read(PROJECT, read), expected, String(read))
  }
  const client = { signal: new AbortController().signal }
  const apart = createSqlAccess(database.pool, database.pool, near)
  const project = await readProjectNear(database.sqlAccess, PROJECT, client)
  t.not(project?.traceCount, 0)
  t.same(await readProjectNear(apart, PROJECT, client), project, "combined from two servers' data")
  t.same(told.told, [], 'no other data was found')
  t.ok(recording.texts.size > reads.length)
  t.same([...recording.texts].filter(isOnTraces), [], 'every statement names the tables of the shard')
})

if (!isOnCluster()) {
  t.test('a shard that has moved is read elsewhere, whatever is left in its old place', async t => {
    const database = await testDatabase(t)
    const told = await directoryOf(t, database)
    const near = await nearOf(t, database, told)
    const count = (sql: Sql) => sql`select count(*)::int as count from traces where project_id = ${PROJECT}`
    t.same(await near.read(PROJECT, count), [{ count: 0 }])
    await database.pool.run(sql => sql`update pg_dist_placement set groupid = 2`)
    t.equal(await near.read(PROJECT, count), ELSEWHERE)
    await database.pool.run(sql => sql.unsafe(`drop view ${names.traces}`))
    t.equal(await near.read(PROJECT, count), ELSEWHERE, 'its tables are gone')
    t.same(told.told, ['forget', 'forget'])
  })

  t.test('a lost node is avoided, and other errors are thrown', async t => {
    const database = await testDatabase(t)
    const told = await directoryOf(t, database)
    const near = await nearOf(t, database, told)
    t.equal(await near.read(PROJECT, sql => sql`select pg_terminate_backend(pg_backend_pid())`), ELSEWHERE)
    t.same(told.told, ['avoid'])
    await t.rejects(
      near.read(PROJECT, sql => sql`select 1 / 0`),
      { code: '22012' }
    )
    await t.rejects(
      near.read(PROJECT, () => Promise.reject(new Error('of its own'))),
      { message: 'of its own' }
    )
    const answers = await Promise.all(Array.from({ length: 20 }, () => near.read(PROJECT, sql => sql`select 1 as one`)))
    t.equal(answers.length, 20)
    t.same(told.told, ['avoid'])
  })

  t.test('a client that disconnects cancels its read, which does not mark the node as lost', async t => {
    const database = await testDatabase(t)
    const told = await directoryOf(t, database)
    const near = await nearOf(t, database, told)
    const client = new AbortController()
    const twoSteps = async (sql: Sql) => {
      setTimeout(() => client.abort(), 200)
      await sql`select pg_sleep(30)`.catch(() => {})
      return sql`select 1`
    }
    const reading = near.read(PROJECT, twoSteps, client)
    await t.rejects(reading, { code: 'CONNECTION_LOST' })
    t.same(told.told, [])
  })

  t.test('a connection with very many prepared statements is replaced', async t => {
    const database = await testDatabase(t)
    const near = await nearOf(t, database, await directoryOf(t, database))
    const pids = new Set<number>()
    for (let n = 0; n < 200; n++) {
      const rows = await near.read(PROJECT, sql =>
        sql.unsafe<[{ pid: number }]>(`select ${n}, pg_backend_pid() as pid where $1`, [true], { prepare: true })
      )
      if (rows !== ELSEWHERE) pids.add(rows[0].pid)
    }
    t.equal(pids.size, 2)
  })
}
