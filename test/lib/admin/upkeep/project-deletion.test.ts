import type { Sql } from 'postgres'
import t from 'tap'
import { applyProjectDeletion, planProjectDeletion } from '../../../../lib/admin/upkeep/project-deletion.ts'
import { PROJECT_TABLES } from '../../../../lib/database/tables.ts'
import { AMOUNTS } from '../../../../lib/rollups/amounts.ts'
import { foldDeltas } from '../../../../lib/store/analytics/rollups/fold.ts'
import { deleteProject } from '../../../../lib/store/projects/projects.ts'
import { fillBack, foldTerms, indexNews } from '../../../../lib/store/search/indexing.ts'
import { ingestBody } from '../../../fixtures/bodies/bodies.ts'
import { fullInstance, instanceRows } from '../../../fixtures/database/backups.ts'
import { countLockWaits } from '../../../fixtures/database/locks.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../../../fixtures/database/seed.ts'
import { until } from '../../../fixtures/until.ts'

const TABLES = [
  ...['traces', 'trace_tags', 'trace_families', 'ranking_floors', 'spans', 'scores', 'project_totals', 'span_messages'],
  ...['search_news', 'search_terms', 'search_segments', 'search_postings', 'search_fills'],
  'api_keys'
]

/** Writes a row to each search index table of the second project. */
async function fillIndex(sql: Sql): Promise<void> {
  const addNews = () => sql`
    insert into search_news (project_id, seq, version) select project_id, seq, version from traces where project_id = 2
    on conflict do nothing`
  const rest = async () => {}
  const index = async () => {
    await addNews()
    while ((await indexNews(sql, 2, rest)) > 0);
  }
  await index()
  await foldTerms(sql, 2, rest, 1)
  await fillBack(sql, 2, rest)
  await index()
  await addNews()
}

t.test('a deleted project leaves nothing behind, and other projects are unchanged', async t => {
  const service = await fullInstance(t)
  const { pool } = service.database
  const { key } = await service.makeKey({ project: 'second' })
  t.equal((await service.call('GET', '/api/v1/project', { key })).status, 200)
  const before = await instanceRows(service.database)
  await pool.run(fillIndex)
  const plan = await pool.run(sql => planProjectDeletion(sql, 'second'))
  t.match(plan, { traces: 15, spans: 30, keys: 2 })
  t.same(await instanceRows(service.database), before, 'a plan changes nothing')

  const deleted = await pool.run(sql => applyProjectDeletion(sql, 'second', plan, { settleMs: 0 }))
  t.match(deleted, { traces: 15, spans: 30 })
  t.equal((await service.call('GET', '/api/v1/project', { key })).status, 401)
  const after = await instanceRows(service.database)
  t.same(after.projects, before.projects.slice(0, 1))
  t.same(after.traces, before.traces.slice(0, 1))
  t.same(after.accounts, before.accounts)
  for (const table of TABLES) {
    const rows = await pool.run(sql => sql`select from ${sql(table)} where project_id = ${plan.projectId}`)
    t.equal(rows.length, 0, table)
  }
  t.same(await pool.run(countStrays), NO_STRAYS)
  t.same(await pool.run(countOrphans), NO_ORPHANS)
  const entries = after.acts.map(({ action, project_id }) => [action, project_id])
  t.same(entries.slice(-3), [
    ['key.revoke', plan.projectId],
    ['trace.prune', plan.projectId],
    ['project.delete', plan.projectId]
  ])
  await t.rejects(
    pool.run(sql => planProjectDeletion(sql, 'second')),
    { message: /no project "second"/ }
  )
})

const DELETION = { by: null, action: 'project.delete', projectId: 2 } as const

t.test('a trace that is being written while its project is deleted is deleted as well', async t => {
  const service = await fullInstance(t)
  const { database } = service
  const { pool } = database
  const { key } = await service.makeKey({ project: 'second' })
  await pool.run(async sql => {
    await sql`
      insert into project_totals (project_id, slot, traces, spans, bytes)
      select 2, slot, 0, 0, 0 from generate_series(0, 62) slot on conflict do nothing`
  })
  const blocker = database.connect()
  try {
    await blocker.unsafe('begin')
    await blocker`select from project_totals where project_id = 2 for update`
    const recorded = service.call('POST', '/api/v1/traces', { key, body: ingestBody() })
    await until(async () => (await countLockWaits(database)) === 1)
    const deleted = pool.run(sql => deleteProject(sql, 2, DELETION))
    await until(async () => (await countLockWaits(database)) === 2)
    await blocker.unsafe('commit')
    t.equal((await recorded).status, 201)
    await deleted
  } finally {
    await blocker.end()
  }
  await pool.run(async sql => {
    await foldDeltas(sql, 2, 1000)
    for (const table of PROJECT_TABLES) {
      t.same(await sql`select from ${sql(table)} where project_id = 2`, [], table)
    }
    t.same(await countOrphans(sql), NO_ORPHANS)
  })
})

t.test('amounts that arrive after the deletion of their project are not folded', async t => {
  const { pool } = (await fullInstance(t)).database
  await pool.run(async sql => {
    await deleteProject(sql, 2, DELETION)
    await sql`
      insert into rollup_news (project_id, started_at, family, name, user_id, ${sql.unsafe(AMOUNTS.join(', '))})
      select 2, now(), 1, 'late', 'ada', ${sql.unsafe(AMOUNTS.map(() => '1').join(', '))} from generate_series(1, 3)`
    while ((await foldDeltas(sql, 2, 1000)) > 0) {}
    for (const table of ['rollup_news', 'rollups', 'user_sums']) {
      t.same(await sql`select from ${sql(table)} where project_id = 2`, [], table)
    }
  })
})
