/** Tests the bounds and the cursors of the span list. test/plugins/spans.test.ts tests what the list contains. */
import t from 'tap'
import type { Edge } from '../../../../lib/store/lists/cursor.ts'
import { listSpans, SPAN_ORDER, type SpanQuery } from '../../../../lib/store/spans/span-list.ts'
import { ingestBody, span } from '../../../fixtures/bodies/bodies.ts'
import { testService } from '../../../fixtures/service/service.ts'

const TIMES = ['2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.001Z', '2026-11-21T12:00:00.002Z']

t.test('a walk that reaches its limit reports its position, and continues from there', async t => {
  const { call, database } = await testService(t)
  const bodies = TIMES.map((startedAt, i) =>
    ingestBody({ startedAt, spans: [span({ startedAt, name: i === 0 ? 'wanted' : 'other' })] })
  )
  for (const body of bodies) t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const list = (query: Partial<SpanQuery>, traces: number) =>
    database.pool.run(sql =>
      listSpans(sql, 1, { limit: 5, texts: false, trace: {}, ...query }, undefined, {
        traces,
        ms: Number.MAX_SAFE_INTEGER
      })
    )
  let after: Edge | undefined
  for (const reached of [TIMES[2], TIMES[1]]) {
    const page = await list({ name: 'wanted', after }, 1)
    t.match(page, { spans: '[]', reached })
    after = page.next
  }
  const last = await list({ name: 'wanted', after }, 1)
  t.equal(JSON.parse(last.spans)[0].id, bodies[0]!.trace.spans[0]!.id)
  t.match(await list({ name: 'wanted' }, 4), { reached: undefined, next: undefined })
})

t.test('each page of the slowest spans has those of the traces that it examined', async t => {
  const { call, database } = await testService(t)
  for (const [i, startedAt] of TIMES.entries()) {
    const spans = [1, 3].map(n => span({ startedAt, endedAt: `2026-11-21T12:00:0${n + i}.000Z`, name: `${n + i}` }))
    const body = ingestBody({ startedAt, endedAt: '2026-11-21T12:00:09.000Z', spans })
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  }
  const list = (traces: number, after?: Edge) =>
    database.pool.run(sql =>
      listSpans(sql, 1, { limit: 3, texts: false, sort: 'slowest', trace: {}, after }, undefined, { traces, ms: 1e9 })
    )
  const names = ({ spans }: { spans: string }) => JSON.parse(spans).map(({ name }: { name: string }) => name)
  const whole = await list(5)
  t.match(whole, { next: undefined, reached: undefined })
  t.same(names(whole), ['5', '4', '3'])
  const first = await list(2)
  t.match(first, { reached: TIMES[1] })
  t.same(names(first), ['5', '4', '3'])
  const second = await list(2, first.next)
  t.match(second, { next: undefined, reached: undefined })
  t.same(names(second), ['3', '1'])
})

t.test('after a page that ends within a trace, the next begins after its last span', async t => {
  const { call, database } = await testService(t)
  const spans = TIMES.map(startedAt => span({ startedAt }))
  const body = ingestBody({ startedAt: TIMES[0], spans })
  t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const ids: string[] = []
  for (let after: Edge | undefined, pages = 0; pages === 0 || after !== undefined; pages++) {
    const page = await database.pool.run(sql => listSpans(sql, 1, { limit: 1, texts: pages === 1, trace: {}, after }))
    ids.push(...JSON.parse(page.spans).map(({ id }: { id: string }) => id))
    t.equal(page.reached, undefined)
    if (page.next !== undefined) t.ok(SPAN_ORDER.isKey(page.next.key) && SPAN_ORDER.isTie(page.next.tie))
    after = page.next
    t.ok(pages < 4)
  }
  t.same(ids, spans.map(({ id }) => id).reverse())
})

t.test('a cursor names a trace, or a trace and one of its spans', async t => {
  const id = 'a'.repeat(32)
  for (const tie of [id, `${id}/${TIMES[0]}/${'b'.repeat(16)}`]) t.ok(SPAN_ORDER.isTie(tie), tie)
  const wrong = ['', 'a', `${id}/`, `${id}/${TIMES[0]}`, `${id}/yesterday/${'b'.repeat(16)}`, `${id}/${TIMES[0]}/b`]
  for (const tie of wrong) t.notOk(SPAN_ORDER.isTie(tie), tie)
})
