/** Checks that rollups and deltas together equal the traces' sums after any history, with folds at any point. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { applyBackfill, planBackfill } from '../../../../../lib/admin/upkeep/environments.ts'
import { pruneAll } from '../../../../../lib/admin/upkeep/pruning.ts'
import { latencyInSql } from '../../../../../lib/rollups/latency.ts'
import { ROOM } from '../../../../../lib/rollups/name-limits.ts'
import { countDeltas } from '../../../../../lib/store/analytics/rollups/deltas.ts'
import { foldDeltas } from '../../../../../lib/store/analytics/rollups/fold.ts'
import { makeFortnight } from '../../../../../lib/store/analytics/rollups/fortnights.ts'
import { countOneDay, findWrongDays, recountDay } from '../../../../../lib/store/analytics/rollups/recount.ts'
import { deleteTrace } from '../../../../../lib/store/trace/deletion.ts'
import { endBody, spansBody, startBody } from '../../../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../../../fixtures/bodies/otlp.ts'
import { testDatabase } from '../../../../fixtures/database/database.ts'
import { countWrongSums } from '../../../../fixtures/database/rollups.ts'
import { seedProject, seedTraces } from '../../../../fixtures/database/seed.ts'
import { type TestService, testService } from '../../../../fixtures/service/service.ts'
import { runs } from '../../../../torture/orders.ts'

const TRACES = '/api/v1/traces'
const IDS = Array.from({ length: 4 }, (_, i) => String(i + 1).repeat(32))
/** Times just before and after the start of a fortnight, a day and an hour. */
const TIMES = [
  '2026-11-13T23:59:59.999Z',
  '2026-11-20T23:59:59.999Z',
  '2026-11-21T00:00:00.000Z',
  '2026-11-21T13:59:59.999Z'
]
const ENDS = ['2026-11-21T14:00:00.000Z', '2026-11-21T14:00:01.237Z', '2026-12-21T14:00:00.000Z']

const some = <T>(...values: T[]) => fc.constantFrom(...values)
const facts = fc.record(
  {
    name: some('a', 'b'),
    status: some('ok', 'error'),
    model: some('m1', 'm2'),
    userId: some('ada', 'bob'),
    costUsd: some(0, 0.1, 0.2, 1e-9, 123_456),
    usage: some({ inputTokens: 5 }, { outputTokens: Number.MAX_SAFE_INTEGER }, { inputTokens: 1, outputTokens: 2 })
  },
  { requiredKeys: [] }
)
const otlp = fc.record({
  spanId: some('1', '2', '3').map(digit => digit.repeat(16)),
  start: some(0, 50_000),
  parentSpanId: some('', 'f'.repeat(16)),
  attributes: some<Record<string, unknown>>(
    {},
    { 'gen_ai.request.model': 'm1', 'gen_ai.usage.input_tokens': 5 },
    { 'user.id': 'ada' },
    { user: 'x' }
  )
})
const id = some(...IDS)

type Step =
  | readonly ['call', string, string, object?]
  | readonly ['fold', number]
  | readonly ['prune' | 'backfill' | 'recount' | 'fortnight']

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(id, facts, some(...TIMES), some(...ENDS)).map(([id, fields, startedAt, endedAt]): Step => {
    return [
      'call',
      'POST',
      TRACES,
      { schemaVersion: 1, trace: { id, name: 'a', spans: [], status: 'ok', ...fields, startedAt, endedAt } }
    ]
  }),
  fc.tuple(id, some(...TIMES)).map(([id, startedAt]): Step => ['call', 'POST', TRACES, startBody({ id, startedAt })]),
  fc.tuple(id, facts, some(...ENDS)).map(([id, { name: _, ...fields }, endedAt]): Step => {
    return ['call', 'POST', `${TRACES}/${id}/end`, endBody({ ...fields, endedAt, status: fields.status ?? 'ok' })]
  }),
  fc.tuple(id, fc.array(otlp, { minLength: 1, maxLength: 2 })).map(([traceId, spans]): Step => {
    const all = spans.map(({ parentSpanId, ...span }) =>
      otlpSpan({ ...span, traceId, ...(parentSpanId !== '' && { parentSpanId }) })
    )
    return ['call', 'POST', '/api/v1/otlp/v1/traces', exportOf(...all)]
  }),
  id.map((id): Step => ['call', 'POST', `${TRACES}/${id}/spans`, spansBody()]),
  id.map((id): Step => ['call', 'DELETE', `${TRACES}/${id}`]),
  some(1, 3, 100).map((most): Step => ['fold', most]),
  some<Step>(['prune'], ['backfill'], ['recount'], ['fortnight'])
)

/**
 * Exports spans of one trace. In GROWING, one trace changes after its end, and another trace gets its end with its
 * second export, with folds in between.
 */
const growth = (id: string, ...spans: Parameters<typeof otlpSpan>[0][]): Step => [
  'call',
  'POST',
  '/api/v1/otlp/v1/traces',
  exportOf(...spans.map(span => otlpSpan({ ...span, traceId: id })))
]
const call = {
  parentSpanId: '1'.repeat(16),
  attributes: { 'gen_ai.request.model': 'm1', 'gen_ai.usage.input_tokens': 7 }
}
const GROWING: Step[] = [
  growth(IDS[0]!, { spanId: '1'.repeat(16) }),
  ['fold', 100],
  ['fortnight'],
  growth(IDS[0]!, { spanId: '2'.repeat(16), ...call }),
  growth(IDS[1]!, { spanId: '3'.repeat(16), ...call }),
  growth(IDS[1]!, { spanId: '1'.repeat(16), status: 2 }),
  ['fortnight']
]

async function take(service: TestService, [what, ...rest]: Step): Promise<unknown> {
  const { pool } = service.database
  if (what === 'call') {
    const [method, path, body] = rest as [string, string, object?]
    const { status, text } = await service.call(method, path, body === undefined ? {} : { body })
    return assert.ok(status < 500, `${method} ${path}: ${status} ${text}`)
  }
  return pool.run(async sql => {
    if (what === 'fold') await foldDeltas(sql, 1, rest[0] as number)
    if (what === 'prune') await pruneAll(sql, 1, { status: 'error' })
    if (what === 'fortnight') await makeFortnight(sql, 1, Date.parse('2027-01-01T00:00:00.000Z'))
    if (what === 'recount') await recountDay(sql, 1, '2026-11-21T00:00:00.000Z')
    if (what === 'backfill') {
      const request = { project: 'default', environment: 'prod', overwrite: true, to: TIMES[2]! }
      await applyBackfill(sql, await planBackfill(sql, request))
    }
  })
}

/** The service may fold at the same time. A fold here then does nothing. */
async function foldAll(pool: TestService['database']['pool']): Promise<void> {
  while ((await pool.run(countDeltas)) > 0) await pool.run(sql => foldDeltas(sql, 1, 1000))
}

t.test('through any history', async t => {
  const service = await testService(t)
  const { pool } = service.database
  let [folded, fortnights] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async steps => {
      for (const each of steps) await take(service, each)
      const [{ made }] = await pool.run(
        sql => sql<[{ made: number }]>`select count(*)::int as made from rollups where level = '1' and traces <> 0`
      )
      fortnights += made
      assert.equal(await pool.run(sql => countWrongSums(sql, 1)), 0)
      folded += await pool.run(sql => foldDeltas(sql, 1, 1000))
      assert.equal(await pool.run(sql => countWrongSums(sql, 1)), 0)
      assert.deepEqual(await pool.run(sql => findWrongDays(sql, 1)), [])
      // After all traces are deleted, no sums remain.
      for (const id of IDS) await take(service, ['call', 'DELETE', `${TRACES}/${id}`])
      await foldAll(pool)
      const [left] = await pool.run(
        sql => sql`
        select sum(abs(traces)) + sum(abs(input_tokens)) + sum(abs(cost)) + sum(abs(latency)) as left from rollups`
      )
      assert.equal(Number(left?.left ?? 0), 0)
    }),
    { ...runs(6), examples: [[GROWING]] }
  )
  t.ok(folded > 0, `${folded} rows were folded`)
  t.ok(fortnights > 0, `${fortnights} times there was a fortnight`)
})

t.test('concurrently with other folds, writers, and interrupted folds', async t => {
  const { pool } = await testDatabase(t)
  const project = await pool.run(seedProject)
  const seed = (name: string) =>
    pool.run(sql =>
      seedTraces(
        sql,
        project,
        Array.from({ length: 50 }, (_, i) => ({ name: `${name}${i % 7}`, durationMs: i * 10 }))
      )
    )
  await seed('first')
  const folds = () => Promise.all([1, 2, 3].map(most => pool.run(sql => foldDeltas(sql, project, most * 10))))
  const taken = (await folds()).concat(await folds()).reduce((sum, rows) => sum + rows, 0)
  t.ok(taken > 0 && taken <= 50)
  t.equal(await pool.run(sql => countWrongSums(sql, project)), 0)

  await seed('second')
  await t.rejects(
    pool.run(async sql => {
      await sql`alter table rollups add constraint none check (traces < 0) not valid`
      await foldDeltas(sql, project, 1000)
    })
  )
  await pool.run(sql => sql`alter table rollups drop constraint none`)
  t.equal(await pool.run(sql => countWrongSums(sql, project)), 0, 'a failing fold leaves the deltas')
  while ((await pool.run(sql => foldDeltas(sql, project, 20))) > 0) {}
  t.equal(await pool.run(countDeltas), 0)
  t.equal(await pool.run(sql => countWrongSums(sql, project)), 0)
})

t.test('with a new name for every trace', async t => {
  const { pool } = await testDatabase(t)
  const project = await pool.run(seedProject)
  const traces = Array.from({ length: ROOM.n + 40 }, (_, i) => ({ name: `run ${i}`, durationMs: i }))
  await pool.run(sql => seedTraces(sql, project, traces))
  while ((await pool.run(sql => foldDeltas(sql, project, 100))) > 0) {}
  const [rows] = await pool.run(
    sql => sql`
    select count(*) filter (where level = 'n') as hour, count(*) filter (where level = 'N') as day,
      sum(traces) filter (where level = 'n' and list = within) as others from rollups`
  )
  t.match(rows, { hour: ROOM.n + 1, day: ROOM.n + 40, others: '40' })
  t.equal(await pool.run(sql => countWrongSums(sql, project)), 0)
  await pool.run(sql => pruneAll(sql, project, {}))
  await pool.run(sql => foldDeltas(sql, project, 1000))
  const [left] = await pool.run(sql => sql`select count(*) filter (where traces <> 0) as left from rollups`)
  t.equal(left!.left, 0)
})

t.test('history is counted one day at a time, and errors are found and repaired', async t => {
  const { pool } = await testDatabase(t)
  const project = await pool.run(seedProject)
  const days = ['2025-01-01', '2026-03-04', '2026-03-05']
  await pool.run(sql =>
    seedTraces(
      sql,
      project,
      days.map(day => ({ startedAt: `${day}T10:00:00.000Z` }))
    )
  )
  await pool.run(async sql => {
    // The state after the migration, except for a trace that arrived since.
    await sql`delete from rollup_news where started_at < '2026-03-05'`
    await sql`insert into rollup_history (project_id, uncounted) values (${project}, 'infinity')`
    t.same(await findWrongDays(sql, project), [], 'uncounted history is not an error')
    t.equal(await countOneDay(sql, project), true)
    t.equal(await countOneDay(sql, project), true)
    t.match(await sql`select uncounted from rollup_history`, [{ uncounted: '2026-03-04T00:00:00.000Z' }])
    t.equal(await countWrongSums(sql, project), 12, 'the oldest day is not counted')
    t.equal(await countOneDay(sql, project), true)
    t.equal(await countOneDay(sql, project), false)
    t.equal(await countOneDay(sql, project), false)
    t.equal(await countWrongSums(sql, project), 0)

    await foldDeltas(sql, project, 100)
    await sql`update rollups set latency = latency + 1 where level = 'N' and start = '2025-01-01'`
    await sql`delete from rollups where level = 'f' and start >= '2026-03-05'`
    const wrong = await findWrongDays(sql, project)
    t.same(wrong, ['2025-01-01T00:00:00.000Z', '2026-03-05T00:00:00.000Z'])
    for (const day of wrong) await recountDay(sql, project, day)
    t.same(await findWrongDays(sql, project), [])
    t.equal(await countWrongSums(sql, project), 0)

    await foldDeltas(sql, project, 100)
    while (await makeFortnight(sql, project)) {}
    t.same(await findWrongDays(sql, project), [])
    await sql`update rollups set errors = errors + 1 where level = '2' and start < '2025-01-01'`
    t.same(await findWrongDays(sql, project), ['2024-12-28T00:00:00.000Z'], 'a fortnight that does not match its days')
    await recountDay(sql, project, '2024-12-28T00:00:00.000Z')
    t.same(await findWrongDays(sql, project), [])
    t.equal(await countWrongSums(sql, project), 0)
  })
})

t.test('traces counted in old duration buckets are neither wrong nor lost', async t => {
  const { pool } = await testDatabase(t)
  const project = await pool.run(seedProject)
  const day = '2026-03-05T00:00:00.000Z'
  const startedAt = '2026-03-05T10:00:00.000Z'
  const durations = [1, 700, 1000, 1000, 90_000]
  const traces = durations.map(durationMs => ({ startedAt, durationMs }))
  await pool.run(sql => seedTraces(sql, project, traces))
  await pool.run(async sql => {
    // The form in which the previous version counted the durations.
    const old = [...new Set(Array.from({ length: 109 }, (_, k) => Math.ceil(2 ** (k / 4))))]
    let updated = 0
    for (const ms of new Set(durations)) {
      const { count } = await sql`
        update rollup_news set latency = ('1e' || 12 * width_bucket(${ms}::bigint, ${old}::bigint[]))::numeric
        where project_id = ${project} and latency = ${sql.unsafe(latencyInSql(String(ms)))}`
      updated += count
    }
    t.equal(updated, durations.length)
    await foldDeltas(sql, project, 3)
    t.same(await findWrongDays(sql, project), [])
    await foldDeltas(sql, project, 10)
    t.same(await findWrongDays(sql, project), [])
    // Two traces are subtracted from the new buckets.
    const ids = await sql<{ id: string }[]>`select id from traces where duration_ms in (700, 90000)`
    for (const { id } of ids) await deleteTrace(sql, project, id)
    await foldDeltas(sql, project, 10)
    t.same(await findWrongDays(sql, project), [])
    await sql`update rollups set latency = latency + 1 where level = 'F'`
    t.same(await findWrongDays(sql, project), [day], 'another duration is wrong')
    await recountDay(sql, project, day)
    await foldDeltas(sql, project, 10)
    t.same(await findWrongDays(sql, project), [])
    t.equal(await countWrongSums(sql, project), 0, 'a recount writes the new form')
  })
})
