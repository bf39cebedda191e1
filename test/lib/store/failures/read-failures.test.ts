/** Tests the bounds of the list of failures. test/plugins/spans.test.ts tests its groups over random histories. */
import t from 'tap'
import { groupFailures } from '../../../../lib/store/failures/read-failures.ts'
import type { Edge } from '../../../../lib/store/lists/cursor.ts'
import { ingestBody, span, spanId } from '../../../fixtures/bodies/bodies.ts'
import { testService } from '../../../fixtures/service/service.ts'

const TIMES = ['2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.001Z', '2026-11-21T12:00:00.002Z']
const RANGE = { from: TIMES[0]!, to: TIMES[2]! }
const WIDE = { traces: 5000, ms: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER }

const failed = (over: object = {}) =>
  span({ name: 'pay', kind: 'tool', status: 'error', output: 'The card 17 expired', ...over })

t.test('calls that reach a limit add up to one call without limits', async t => {
  const { call, database } = await testService(t)
  for (const startedAt of TIMES) {
    const body = ingestBody({ startedAt, spans: [failed({ startedAt }), failed({ startedAt, output: 'No stock' })] })
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  }
  const group = (bounds: typeof WIDE, after?: Edge) =>
    database.pool.run(sql => groupFailures(sql, 1, { trace: RANGE, after }, undefined, bounds))
  const whole = await group(WIDE)
  t.match(whole, { count: 6, next: undefined, reached: undefined })
  t.same(whole.groups.map(({ pattern, count, traces }) => [pattern, count, traces.size]).sort(), [
    ['No stock', 3, 3],
    ['The card <number> expired', 3, 3]
  ])
  for (const narrow of [
    { ...WIDE, traces: 1 },
    { ...WIDE, ms: 0 },
    { ...WIDE, traces: 2, bytes: 1 }
  ]) {
    let count = 0
    let next: Edge | undefined
    let calls = 0
    do {
      const part = await group(narrow, next)
      t.equal(part.reached === undefined, part.next === undefined)
      count += part.count
      next = part.next
      t.ok(++calls < 10)
    } while (next !== undefined)
    t.equal(count, 6, JSON.stringify(narrow))
    t.ok(calls > 1, 'the limit was reached')
  }
})

t.test('a step that passes on a failure, and a trace that fails by itself', async t => {
  const { call, database } = await testService(t)
  const inner = failed()
  const outer = failed({ id: spanId(), name: 'agent', kind: 'agent', output: null })
  const nested = ingestBody({ startedAt: TIMES[1], spans: [outer, { ...inner, parentSpanId: outer.id }] })
  const own = ingestBody({ startedAt: TIMES[2], status: 'error', output: { error: 'The run was stopped' } })
  for (const body of [nested, own]) t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const { groups } = await database.pool.run(sql => groupFailures(sql, 1, { trace: RANGE }))
  t.same(
    groups.map(({ kind, name, pattern, count, passedOn }) => [kind, name, pattern, count, passedOn]),
    [
      ['trace', 'run', 'The run was stopped', 1, 0],
      ['tool', 'pay', 'The card <number> expired', 1, 0],
      ['agent', 'agent', null, 1, 1]
    ]
  )
  const filtered = await database.pool.run(sql => groupFailures(sql, 1, { trace: RANGE, kind: 'tool', name: 'pay' }))
  t.equal(filtered.count, 1)
})
