/** Tests how the index of a version that searched fewer texts is rebuilt to cover all texts. */
import t from 'tap'
import { connectTo } from '../../../../lib/database/connection.ts'
import { termsOf } from '../../../../lib/search/words.ts'
import { foldTerms, rebuildOld, sweepSegment } from '../../../../lib/store/search/indexing.ts'
import { findDue, readBacklog, readSearchState } from '../../../../lib/store/search/state.ts'
import { deleteTrace } from '../../../../lib/store/trace/deletion.ts'
import { ingestBody, span } from '../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { countLockWaits } from '../../../fixtures/database/locks.ts'
import { findAll, indexAll, rebuildAll, rest, searchedProject } from '../../../fixtures/database/search-histories.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'
import { until } from '../../../fixtures/until.ts'

/** The statement of a server that does not know the column `covered`. */
const OLD_UPSERT = `
  insert into search_terms (project_id, seq, started_at, terms)
  select project_id, seq, started_at, $2::int[] from traces where project_id = $1
  on conflict (project_id, seq) do update set started_at = excluded.started_at, terms = excluded.terms`

async function oldProject(t: import('tap').Test, count = 3) {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  const { pool } = database
  const projectId = await pool.run(searchedProject)
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const failed = span({ kind: 'tool', input: { address: 'Elm Street' }, status: 'error' })
    const attributes = { 'error.type': 'TimeoutError', 'error.message': 'the courier did not respond' }
    const body = ingestBody({
      startedAt: `2026-11-21T11:00:0${i}Z`,
      input: 'a refund',
      metadata: { tenant: 'acme' },
      spans: [{ ...failed, attributes }]
    })
    await path.record(writer({ projectId }), bytes(body))
    ids.unshift(body.trace.id)
  }
  const upsertOld = () => pool.run(sql => sql.unsafe(OLD_UPSERT, [projectId, [...termsOf(['run', 'a refund'])]]))
  return { database, pool, projectId, ids, upsertOld }
}

const NEW = ['elm', '"courier did not respond"', 'timeouterror', 'acme']

t.test(
  'older rows and segments are found by the texts that they index, and after the rebuild by all texts',
  async t => {
    const { pool, projectId, ids, upsertOld } = await oldProject(t)
    await upsertOld()
    await pool.run(async sql => {
      await sql`delete from search_news`
      await sql`insert into search_fills (project_id, is_done) values (${projectId}, true)`
      for (const where of ['rows', 'a segment']) {
        t.same(await findAll(sql, projectId, 'refund'), ids, where)
        for (const words of NEW) t.same(await findAll(sql, projectId, words), [], `${words} in ${where}`)
        t.match(await readSearchState(sql, projectId), { partlyIndexed: 3 })
        t.match(await readBacklog(sql, new Map()), [{ projectId, partlyIndexed: 3 }])
        t.same(await findDue(sql), [projectId])
        if (where === 'rows') await foldTerms(sql, projectId, rest, 1)
      }
      await sweepSegment(sql, projectId, rest, 0)
      t.match(await readSearchState(sql, projectId), { partlyIndexed: 3 }, 'a sweep adds no texts')
      t.equal(await rebuildOld(sql, projectId, rest), 3)
      t.equal(await rebuildOld(sql, projectId, rest), 0)
      t.match(await readSearchState(sql, projectId), { partlyIndexed: 0 })
      t.same(await findDue(sql), [])
      for (const words of ['refund', ...NEW, 'refund acme elm'])
        t.same(await findAll(sql, projectId, words), ids, words)
    })
  }
)

t.test('a server of the previous version can write beside a server that indexes all texts', async t => {
  const { pool, projectId, ids, upsertOld } = await oldProject(t)
  await pool.run(sql => indexAll(sql, projectId))
  await upsertOld()
  await pool.run(async sql => {
    await foldTerms(sql, projectId, rest, 1)
    t.match(await readSearchState(sql, projectId), { partlyIndexed: 3 }, 'its rows are recognised by their terms')
    await deleteTrace(sql, projectId, ids[1]!)
    await rebuildAll(sql, projectId)
    t.same(await findAll(sql, projectId, 'acme'), [ids[0], ids[2]])
    await deleteTrace(sql, projectId, ids[0]!)
    await deleteTrace(sql, projectId, ids[2]!)
    await sql`update search_segments set texts = 1`
    await rebuildAll(sql, projectId)
    t.same(await sql`select from search_segments`, [], 'nothing remains of a segment without traces')
    t.same(await sql`select from search_postings`, [])
  })
})

t.test('a process that is killed while it replaces a segment leaves the old segment', async t => {
  const { database, pool, projectId, ids, upsertOld } = await oldProject(t)
  await upsertOld()
  await pool.run(async sql => {
    await sql`delete from search_news`
    await foldTerms(sql, projectId, rest, 1)
  })
  const own = connectTo(database.target)
  t.teardown(() => own.end({ timeout: 0 }))
  const [{ pid }] = await own<[{ pid: number }]>`select pg_backend_pid() as pid`
  const other = connectTo(database.target)
  t.teardown(() => other.end({ timeout: 0 }))
  await other.begin(async held => {
    await held`select from search_segments where project_id = ${projectId} for update`
    const killed = rebuildOld(own, projectId, rest)
    const failed = t.rejects(killed)
    // By now the postings are deleted in the transaction.
    await until(async () => (await countLockWaits(database)) > 0)
    await held`select pg_terminate_backend(${pid}::int)`
    await failed
  })
  await pool.run(async sql => {
    t.match(await readSearchState(sql, projectId), { partlyIndexed: 3 })
    t.same(await findAll(sql, projectId, 'refund'), ids)
    await rebuildAll(sql, projectId)
    for (const words of ['refund', ...NEW]) t.same(await findAll(sql, projectId, words), ids, words)
  })
})
