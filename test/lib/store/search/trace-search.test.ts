import t from 'tap'
import { readWanted } from '../../../../lib/search/wanted.ts'
import type { Edge } from '../../../../lib/store/lists/cursor.ts'
import { fillBack, foldTerms } from '../../../../lib/store/search/indexing.ts'
import { findDue, readSearchState, setSearch } from '../../../../lib/store/search/state.ts'
import { findWords, SEARCH_BOUNDS } from '../../../../lib/store/search/trace-search.ts'
import { addMessages } from '../../../../lib/store/trace/messages.ts'
import { ingestBody, traceId } from '../../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import {
  audit,
  findAll,
  indexAll,
  rest,
  searchedProject,
  searchHistories
} from '../../../fixtures/database/search-histories.ts'
import { seedProject } from '../../../fixtures/database/seed.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'

t.test('finds traces with all words, newest first, whatever is recorded, changed, deleted and indexed', t =>
  searchHistories(t, 4)
)

t.test('older traces are indexed newest first, and turning search off drops the index', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    await setSearch(sql, projectId, true, audit(projectId))
    t.match(await readSearchState(sql, projectId), { isFilled: true }, 'there are no older traces')
    await setSearch(sql, projectId, false, audit(projectId))
    const ids: string[] = []
    for (const day of [1, 2, 3, 4, 5]) {
      const body = ingestBody({
        startedAt: `2026-01-0${day}T00:00:00Z`,
        endedAt: '2026-02-01T00:00:00Z',
        output: 'a refund'
      })
      await path.record(writer({ projectId }), bytes(body))
      ids.unshift(body.trace.id)
    }
    t.same(await findDue(sql), [])
    await setSearch(sql, projectId, true, audit(projectId))
    t.same(await findDue(sql), [projectId])
    const fill = () => fillBack(sql, projectId, rest, { settleMs: 0, most: 2 })
    t.equal(await fill(), undefined)
    t.same(await findAll(sql, projectId, 'refund'), [])
    t.same(await findDue(sql), [], 'servers are notified first')
    t.equal(await fill(), 2)
    t.match(await readSearchState(sql, projectId), { backTo: '2026-01-04T00:00:00.000Z', isFilled: false })
    t.same(await findAll(sql, projectId, 'refund'), ids.slice(0, 2))
    t.same([await fill(), await fill(), await fill()], [2, 1, undefined])
    t.same(await readSearchState(sql, projectId), { backTo: null, isFilled: true, waiting: 0, partlyIndexed: 0 })
    t.same(await findAll(sql, projectId, 'refund'), ids)
    await setSearch(sql, projectId, false, audit(projectId))
    for (const table of ['search_news', 'search_terms', 'search_segments', 'search_postings', 'search_fills']) {
      t.same(await sql`select from ${sql(table)} where project_id = ${projectId}`, [], table)
    }
  })
})

t.test('after its deadline, a search still examines one trace per page', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await searchedProject(sql)
    const ids: string[] = []
    for (let i = 0; i < 3; i++) {
      const body = ingestBody({ output: 'a refund' })
      await path.record(writer({ projectId }), bytes(body))
      ids.push(body.trace.id)
    }
    await indexAll(sql, projectId)
    const others = { inSql: () => [], keep: undefined }
    const bounds = { ...SEARCH_BOUNDS, ms: 0 }
    const found: string[] = []
    let after: Edge | undefined
    do {
      const query = { sort: 'newest' as const, limit: 2, after }
      const page = await findWords(sql, projectId, readWanted('refund')!, query, others, bounds)
      t.ok(page.examined > 0)
      found.push(...page.matches.map(({ id }) => id))
      after = page.next
    } while (after !== undefined)
    t.same(found.sort(), ids.sort())
  })
})

t.test('without search, nothing is written', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    await path.record(writer({ projectId }), bytes(ingestBody({ id: traceId(), output: 'a refund' })))
    t.same(await sql`select from search_news`, [])
  })
})

t.test('a growing OpenTelemetry trace is found by later spans, and by log records', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await searchedProject(sql)
    const id = traceId()
    const call = (spanId: string, start: number, attributes: object) =>
      otlpSpan({
        traceId: id,
        spanId,
        parentSpanId: 'ab'.repeat(8),
        start,
        attributes: { 'gen_ai.operation.name': 'chat', ...attributes }
      })
    const send = (...spans: object[]) => path.export(writer({ projectId }), bytes(exportOf(...spans)), 'json')
    const find = async (words: string) => {
      await indexAll(sql, projectId)
      return findAll(sql, projectId, words)
    }
    const messages = (content: string) => ({
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content }] }])
    })
    await send(call('cd'.repeat(8), 6, {}), call('ef'.repeat(8), 7, messages('a refund')))
    t.same(await find('refund'), [id])
    t.equal(await foldTerms(sql, projectId, rest, 1), 1)
    // The root gives the trace another name and another start time, and thus another position in the list.
    await send(otlpSpan({ traceId: id, spanId: 'ab'.repeat(8), name: 'agent', start: 5 }))
    t.same(await find('refund agent'), [id])
    t.same(await findAll(sql, projectId, 'refund'), [id], 'whatever an old entry says about its start')
    t.equal(await foldTerms(sql, projectId, rest, 1), 1)
    t.same(await findAll(sql, projectId, 'refund'), [id], 'it is in two segments, but found once')
    const heard = { traceId: id, spanId: 'cd'.repeat(8), micros: 1, place: 0, digest: '00'.repeat(16) }
    await addMessages(sql, projectId, [
      { ...heard, input: '[{"role":"user","content":"and the parcel"}]', output: null }
    ])
    t.same(await find('parcel refund'), [id])
    t.same(await findAll(sql, projectId, 'zebra'), [])
  })
})
