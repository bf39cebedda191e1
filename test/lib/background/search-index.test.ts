import t from 'tap'
import { Backlog, SearchIndex } from '../../../lib/background/search-index.ts'
import { createLog } from '../../../lib/log.ts'
import { Metrics } from '../../../lib/metrics.ts'
import { readBacklog, setSearch } from '../../../lib/store/search/state.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { audit, findAll, searchedProject } from '../../fixtures/database/search-histories.ts'
import { bytes, testWritePath, writer } from '../../fixtures/database/write-path.ts'
import { until } from '../../fixtures/until.ts'

t.test('recorded traces are soon found, whichever of two servers indexes them, and not once search is off', async t => {
  const database = await testDatabase(t)
  const { pool, sqlAccess: sql } = database
  const projectId = await pool.run(searchedProject)
  const path = testWritePath(t, database)
  const common = { sql, database, log: createLog('silent') }
  const metrics = new Metrics()
  const one = new SearchIndex({ ...common, metrics, isCalm: () => true })
  const other = new SearchIndex({ ...common, metrics: new Metrics(), isCalm: () => false })
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
  t.match((await metrics.render()).text, /^spoor_search_waiting_age_seconds 0$/m)
  await pool.run(each => setSearch(each, projectId, false, audit(projectId)))
  t.same(await find(), [])
})

t.test('an index that cannot be written is one line with the cause, and waiting traces are counted', async t => {
  const database = await testDatabase(t)
  const { pool, sqlAccess: sql } = database
  const projectId = await pool.run(searchedProject)
  await pool.run(each => each`alter table search_terms add constraint shut check (seq < 0)`)
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => lines.push(JSON.parse(line)) })
  const index = new SearchIndex({ sql, database, log, metrics: new Metrics(), isCalm: () => true })
  t.teardown(() => index.close())
  await testWritePath(t, database).record(writer({ projectId }), bytes(ingestBody()))
  await until(() => lines.length > 0)
  t.match(lines, [{ level: 'warn', msg: /^indexing for search failed/, cause: /search_terms/, code: '23514' }])
  const before = new Backlog()
  const [waiting] = await pool.run(each => readBacklog(each, before.marks))
  t.match(waiting, { projectId, waiting: 1, hasMark: false })
  const { marks } = before.next([waiting!], 0)
  t.match(await pool.run(each => readBacklog(each, marks)), [{ waiting: 1, last: waiting!.last, hasMark: true }])
  await pool.run(each => each`alter table search_terms drop constraint shut`)
  await until(() => lines.length > 1)
  t.match(lines, [{}, { level: 'info', msg: 'indexing for search works again' }])
  await until(async () => (await pool.run(each => readBacklog(each, marks)))[0]!.waiting === 0)
  t.match(await pool.run(each => readBacklog(each, marks)), [{ last: undefined, hasMark: false }])
})
