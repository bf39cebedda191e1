import t from 'tap'
import { SearchIndex } from '../../../../lib/ingest/rounds/search-index.ts'
import { createLog } from '../../../../lib/log.ts'
import { setSearch } from '../../../../lib/store/search/state.ts'
import { ingestBody } from '../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { act, findAll, searchedProject } from '../../../fixtures/database/search-histories.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'
import { until } from '../../../fixtures/until.ts'

t.test('what is recorded is found soon, whichever of two servers indexes it, and not once search is off', async t => {
  const database = await testDatabase(t)
  const { pool, sqlAccess: sql } = database
  const projectId = await pool.run(searchedProject)
  const path = testWritePath(t, database)
  const one = new SearchIndex({ sql, database, log: createLog('silent'), isCalm: () => true })
  const other = new SearchIndex({ sql, database, log: createLog('silent'), isCalm: () => false })
  t.teardown(() => one.close())
  t.teardown(() => other.close())
  const ids: string[] = []
  for (const output of ['a refund', 'another refund', 'nothing']) {
    const body = ingestBody({ output, startedAt: `2026-11-21T11:00:0${ids.length}Z` })
    await path.record(writer({ projectId }), bytes(body))
    ids.unshift(body.trace.id)
  }
  const find = () => pool.run(each => findAll(each, projectId, 'refund'))
  await until(async () => (await find()).length === 2)
  t.same(await find(), ids.slice(1))
  await pool.run(each => setSearch(each, projectId, false, act(projectId)))
  t.same(await find(), [])
})
