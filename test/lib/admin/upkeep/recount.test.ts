import t from 'tap'
import { recountProject } from '../../../../lib/admin/upkeep/recount.ts'
import { foldNews } from '../../../../lib/store/analytics/rollups/fold.ts'
import { recountDay } from '../../../../lib/store/analytics/rollups/recount.ts'
import { ingestBody, span } from '../../../fixtures/bodies/bodies.ts'
import { countWrongSums } from '../../../fixtures/database/rollups.ts'
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
    while (isRecording) await service.database.pool.run(sql => foldNews(sql, 1, 5))
  })
  const today = '2026-11-21T00:00:00.000Z'
  for (let i = 0; i < 3; i++) await service.database.pool.run(sql => recountDay(sql, 1, today))
  const repairs = await Promise.all([recount(true), recount(true)])
  t.same(repairs.map(({ applied }) => applied).sort(), [false, true], 'two at once repair it once')
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
