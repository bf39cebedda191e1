import t from 'tap'
import { recountProject } from '../../../../lib/admin/upkeep/recount.ts'
import { foldDeltas } from '../../../../lib/store/analytics/rollups/fold.ts'
import { recountDay } from '../../../../lib/store/analytics/rollups/recount.ts'
import { ingestBody, span, spansBody, startBody } from '../../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import { countWrongSums } from '../../../fixtures/database/rollups.ts'
import { freshId } from '../../../fixtures/database/seed.ts'
import { testService } from '../../../fixtures/service/service.ts'

t.test('compares the totals with the traces, and repairs them while others write', async t => {
  const service = await testService(t)
  const recount = (apply: boolean) => service.database.pool.run(sql => recountProject(sql, 'default', apply))
  const record = () => service.call('POST', '/api/v1/traces', { body: ingestBody({ spans: [span()] }) })
  const nothing = { traces: 0, spans: 0, bytes: 0 }
  t.same(await recount(true), {
    project: 'default',
    rows: nothing,
    counters: nothing,
    wrongDays: [],
    wrongTraces: { count: 0, ids: [] },
    agree: true,
    applied: false
  })
  for (let i = 0; i < 5; i++) await record()
  t.match(await recount(false), { rows: { traces: 5, spans: 5 }, agree: true })

  await service.database.pool.run(
    sql => sql`update project_totals set traces = traces + 7, spans = 0, bytes = bytes - 1 where traces > 0`
  )
  t.match(await recount(false), {
    rows: { traces: 5 },
    counters: { traces: 12, spans: 0 },
    agree: false,
    applied: false
  })
  t.match(await recount(false), { agree: false }, 'nothing was changed')

  let isRecording = true
  const writers = Array.from({ length: 4 }, async () => {
    while (isRecording) {
      const { body } = await record()
      await service.call('PATCH', `/api/v1/traces/${body.traceId}`, { body: { metadata: { more: 'bytes' } } })
      if (body.traceId < '8') await service.call('DELETE', `/api/v1/traces/${body.traceId}`)
    }
  })
  const folds = Array.from({ length: 2 }, async () => {
    while (isRecording) await service.database.pool.run(sql => foldDeltas(sql, 1, 5))
  })
  const today = '2026-11-21T00:00:00.000Z'
  for (let i = 0; i < 3; i++) await service.database.pool.run(sql => recountDay(sql, 1, today))
  const repairs = await Promise.all([recount(true), recount(true)])
  t.same(repairs.map(({ applied }) => applied).sort(), [false, true], 'two concurrent recounts repair it once')
  for (let i = 0; i < 3; i++) t.match(await recount(true), { agree: true, applied: false })
  isRecording = false
  await Promise.all([...writers, ...folds])
  t.equal(await service.database.pool.run(sql => countWrongSums(sql, 1)), 0, 'and so are the sums over time')
  const { rows, counters } = await recount(false)
  t.same(counters, rows)
  const { body } = await service.call('GET', '/api/v1/project')
  t.match(body, { traceCount: rows.traces, spanCount: rows.spans, estimatedBytes: rows.bytes })
  await t.rejects(
    service.database.pool.run(sql => recountProject(sql, 'nowhere', true)),
    /no project "nowhere"/
  )
})

t.test('trusts the span rows, and repairs traces with other counts, while others write', async t => {
  const service = await testService(t, { config: { maxSpans: 200 } })
  const { pool } = service.database
  const recount = (apply: boolean) => pool.run(sql => recountProject(sql, 'default', apply))
  const post = (path: string, body: object) => service.call('POST', path, { body })
  const read = async (id: string) => (await service.call('GET', `/api/v1/traces/${id}`)).body
  const counted = async (id: string) => {
    const { trace, spans } = await read(id)
    return { spanCount: trace.spanCount, stored: spans.length, errorCount: trace.errorCount }
  }

  // A trace recorded by OpenTelemetry, with failed spans that are left out, and running traces.
  const gathered = freshId(32)
  const failed = Array.from({ length: 210 }, () =>
    otlpSpan({ traceId: gathered, parentSpanId: 'f'.repeat(16), status: 2 })
  )
  await post('/api/v1/otlp/v1/traces', exportOf(...failed))
  const right = { spanCount: 199, stored: 199, errorCount: 210 }
  t.same(await counted(gathered), right)
  const running = await Promise.all(
    Array.from({ length: 8 }, async () => (await post('/api/v1/traces', startBody({ spans: [span()] }))).body.traceId)
  )
  t.match(await recount(false), { rows: { spans: 207 }, agree: true })

  // Earlier releases left wrong counts in the traces, although the totals were correct.
  await pool.run(sql => sql`update traces set span_count = span_count + 19, error_count = error_count - 1`)
  const found = await recount(false)
  t.same(found.rows, found.counters)
  t.match(found, { wrongTraces: { count: 9 }, agree: false, applied: false })
  t.same(found.wrongTraces.ids.toSorted(), [gathered, ...running].toSorted())
  await service.call('DELETE', `/api/v1/traces/${running.pop()}`)
  const after = await recount(false)
  t.same(after.rows, after.counters, 'a deletion subtracts the spans that existed')

  const added = running.map(async id => {
    for (let i = 0; i < 10; i++) t.match(await post(`/api/v1/traces/${id}/spans`, spansBody(span())), { status: 200 })
  })
  await recount(true)
  await Promise.all(added)
  await recount(true)
  for (const id of running) t.same(await counted(id), { spanCount: 11, stored: 11, errorCount: 0 })
  t.same(await counted(gathered), right)
  t.match(await recount(false), { wrongTraces: { count: 0, ids: [] }, agree: true })
  const entries = await pool.run(
    sql => sql`select detail->>'traces' as traces from audit where action = 'project.recount'`
  )
  t.ok(entries.length >= 1)
})
