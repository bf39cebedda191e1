import t from 'tap'
import { watch } from '../../../lib/background/idle-traces.ts'
import { checkTotals } from '../../../lib/store/write/totals.ts'
import { startBody } from '../../fixtures/bodies/bodies.ts'
import { exportOf, type GivenSpan, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { exportLines, testImporter } from '../../fixtures/database/moving.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

t.test(
  'a trace is idle if it has been running with the same version for long enough; deleted traces are forgotten',
  async t => {
    const round = (before: Parameters<typeof watch>[0], now: number, ...versions: [seq: number, version: number][]) => {
      const { watched, idle } = watch(
        before,
        versions.map(([seq, version]) => ({ seq, version })),
        now,
        10
      )
      return { watched, idle: idle.map(({ seq }) => seq) }
    }
    const first = round(new Map(), 0, [1, 1], [2, 2], [3, 3])
    t.same(first.idle, [])
    const second = round(first.watched, 9, [1, 1], [2, 7])
    t.same(second.idle, [])
    const third = round(second.watched, 10, [1, 1], [2, 7], [3, 3])
    t.same(third.idle, [1], 'the others changed, or were not running in between')
    t.same(round(third.watched, 20, [2, 7], [3, 3]).idle, [2, 3])
  }
)

const PATH = '/api/v1/otlp/v1/traces'
const CONFIG = { idleCompleteMs: 300 }

/** Returns spans of one trace. The spans have a parent that never arrives. */
function orphans() {
  const [traceId, parentSpanId] = [freshId(32), freshId(16)]
  return { traceId, parentSpanId, orphan: (given: GivenSpan = {}) => otlpSpan({ traceId, parentSpanId, ...given }) }
}

const sendTo = ({ call }: TestService) => ({
  send: (...spans: object[]) => call('POST', PATH, { body: exportOf(...spans) }),
  read: async (id: string) => (await call('GET', `/api/v1/traces/${id}`)).body.trace
})

t.test('a trace without a root completes when it has been idle for a while, and reopens when more arrives', async t => {
  const service = await testService(t, { config: CONFIG })
  const { send, read } = sendTo(service)
  const { traceId, parentSpanId, orphan } = orphans()
  const native = freshId(32)
  await service.call('POST', '/api/v1/traces', { body: startBody({ id: native }) })
  const call = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 10 }
  await send(orphan({ start: 1, end: 2, status: 1, attributes: call }), orphan({ start: 2, end: 5 }))

  await until(async () => (await read(traceId)).status === 'ok')
  t.match(await read(traceId), {
    startedAt: '2026-11-21T00:00:01.000Z',
    endedAt: '2026-11-21T00:00:05.000Z',
    durationMs: 4000,
    spanCount: 2,
    usage: { inputTokens: 10 },
    metadata: { spoor: { completed: 'idle' } }
  })
  const listed = async (query: string) =>
    (await service.call('GET', `/api/v1/traces?${query}`)).body.traces.map(({ id }: { id: string }) => id)
  t.same(await listed('status=ok&sort=slowest'), [traceId])
  t.same(await listed('status=running'), [native], 'traces that were not recorded over OpenTelemetry keep running')
  t.match((await service.call('PATCH', `/api/v1/traces/${traceId}`, { body: { metadata: { a: 1 } } })).status, 200)

  await send(orphan({ start: 4, end: 7, status: 2 }))
  await until(async () => (await read(traceId)).status === 'error')
  const completed = { endedAt: '2026-11-21T00:00:07.000Z', metadata: { a: 1, spoor: { completed: 'idle' } } }
  t.match(await read(traceId), completed)

  const other = await testService(t)
  const restore = await testImporter(t, other.database)
  const lines = await exportLines(service.database, 'default')
  t.match(await restore(1, lines.join('\n')), { problems: [] })
  t.match(await sendTo(other).read(traceId), { status: 'error', ...completed })

  await send(otlpSpan({ traceId, spanId: parentSpanId, start: 0, end: 9, status: 1, name: 'root' }))
  const whole = await read(traceId)
  t.match(whole, { name: 'root', status: 'ok', endedAt: '2026-11-21T00:00:09.000Z', spanCount: 4 })
  t.same(whole.metadata, { a: 1 })
  t.match(
    await restore(1, (await exportLines(service.database, 'default')).join('\n')),
    { advanced: 1, problems: [] },
    'the whole trace is a later state of the completed one'
  )
  t.same(await sendTo(other).read(traceId), whole)
  const { rows, counters } = await service.database.pool.run(sql => checkTotals(sql, 1, false))
  t.same(rows, counters)
  t.match((await service.call('GET', '/metrics')).text, /^spoor_idle_completed_total 2$/m)
})

t.test('of several processes, one completes a trace; a later process completes those that it finds', async t => {
  const database = await testDatabase(t)
  const never = await testService(t, { database, config: { idleCompleteMs: undefined } })
  const { send, read } = sendTo(never)
  const all = Array.from({ length: 120 }, orphans)
  await send(...all.map(({ orphan }) => orphan({ start: 1, end: 3 })))
  t.match(await read(all[0]!.traceId), { status: 'running' })
  await Promise.all([1, 2].map(() => testService(t, { database, config: CONFIG })))
  for (const { traceId } of all) await until(async () => (await read(traceId)).status === 'unset')
  t.match(await read(all[0]!.traceId), { durationMs: 2000, metadata: { spoor: { completed: 'idle' } } })
  const { rows, counters } = await database.pool.run(sql => checkTotals(sql, 1, false))
  t.same(rows, counters)
})
