import fc from 'fast-check'
import t, { type Test } from 'tap'
import { applyPruning, type PruneRequest, planPruning } from '../../../../lib/admin/upkeep/pruning.ts'
import { addScore } from '../../../../lib/store/trace/scores.ts'
import type { TraceConditions } from '../../../../lib/store/trace/trace-conditions.ts'
import { type TestDatabase, testDatabase } from '../../../fixtures/database/database.ts'
import { exportLines } from '../../../fixtures/database/moving.ts'
import {
  countOrphans,
  countStrays,
  freshId,
  NO_ORPHANS,
  NO_STRAYS,
  type SeedTrace,
  seedProject,
  seedScores,
  seedSpans,
  seedTraces
} from '../../../fixtures/database/seed.ts'
import { runs } from '../../../torture/orders.ts'

type Trace = Required<
  Pick<SeedTrace, 'environment' | 'name' | 'startedAt' | 'status' | 'tags' | 'model' | 'sessionId' | 'userId'>
>

const day = (n: number) => `2026-01-0${n}T00:00:00.000Z`
const trace: fc.Arbitrary<Trace> = fc.record({
  name: fc.constantFrom('chat', 'search'),
  status: fc.constantFrom('ok', 'error', 'running'),
  environment: fc.constantFrom('production', 'unassigned', null),
  tags: fc.subarray(['a', 'b']),
  model: fc.constantFrom('m', null),
  sessionId: fc.constantFrom('s', null),
  userId: fc.constantFrom('u', 'v', null),
  startedAt: fc.integer({ min: 1, max: 4 }).map(day)
})
const selection = fc
  .record(
    {
      name: fc.constantFrom('chat', 'search'),
      status: fc.constantFrom('ok', 'error', 'running'),
      environment: fc.constantFrom('production', 'unassigned'),
      tag: fc.constantFrom('a', 'b'),
      model: fc.constant('m'),
      sessionId: fc.constant('s'),
      userId: fc.constantFrom('u', 'v'),
      errors: fc.constant(true),
      from: fc.integer({ min: 1, max: 4 }).map(day),
      to: fc.integer({ min: 1, max: 5 }).map(day),
      before: fc.integer({ min: 1, max: 5 }).map(day)
    },
    { requiredKeys: [] }
  )
  .filter(conditions => Object.keys(conditions).length > 0)

/** Seeded traces have no failed spans, so only their status makes them errors. */
const fits = (one: Trace, { tag, errors, from, to, before, ...equal }: TraceConditions): boolean =>
  Object.entries(equal).every(([field, value]) => value === undefined || one[field as keyof Trace] === value) &&
  (errors === undefined || one.status === 'error') &&
  (tag === undefined || one.tags!.includes(tag)) &&
  (from === undefined || one.startedAt >= from) &&
  (to === undefined || one.startedAt <= to) &&
  (before === undefined || one.startedAt < before)

/** Creates a project with the given traces, each with spans and scores, and another project, which must not change. */
async function seed(database: TestDatabase, traces: readonly SeedTrace[]): Promise<{ project: string; id: number }> {
  return database.pool.run(async sql => {
    for (const id of [await seedProject(sql), await seedProject(sql)]) {
      const whole = traces.map((each, n) => ({ ...each, seq: id * 10_000 + n, spanCount: n % 3, scoreCount: n % 2 }))
      await seedTraces(sql, id, whole)
      for (const { seq, spanCount, scoreCount } of whole) {
        const ids = Array.from({ length: spanCount }, () => freshId(16))
        if (spanCount > 0) await seedSpans(sql, id, seq, ids)
        if (scoreCount > 0) await seedScores(sql, id, [{ traceSeq: seq }])
      }
    }
    const [row] = await sql<[{ project: string; id: number }]>`
      select slug as project, id from projects order by id desc limit 1`
    return row
  })
}

const countTraces = async ({ pool }: TestDatabase, projectId: number): Promise<number> =>
  (await pool.run(sql => sql`select from traces where project_id = ${projectId}`)).length

async function checkRows(t: Test, { pool }: TestDatabase): Promise<void> {
  t.same(await pool.run(countStrays), NO_STRAYS)
  t.same(await pool.run(countOrphans), NO_ORPHANS)
}

t.test('only traces that meet all conditions are exported and deleted, with all their data', async t => {
  const database = await testDatabase(t)
  const property = fc.asyncProperty(
    fc.array(trace, { minLength: 1, maxLength: 12 }),
    selection,
    async (traces, conditions) => {
      const { project, id } = await seed(database, traces)
      const selected = traces.filter(each => fits(each, conditions)).length
      const plan = await database.pool.run(sql => planPruning(sql, { project, ...conditions }))
      t.equal(plan.traces, selected, 'the plan counts them')
      t.equal((await exportLines(database, project, conditions)).length, selected, 'an export contains them')
      t.equal(await countTraces(database, id), traces.length, 'and changes nothing')
      t.match(await database.pool.run(sql => applyPruning(sql, plan)), { traces: selected, kept: 0 })
      t.equal(await countTraces(database, id), traces.length - selected)
      t.equal((await database.pool.run(sql => planPruning(sql, { project, ...conditions }))).traces, 0)
    }
  )
  await fc.assert(property, runs(15))
  await checkRows(t, database)
  const entries = await database.pool.run(
    sql => sql`select action from audit where action not in ('trace.prune', 'account.create', 'project.create')`
  )
  t.same(entries, [])
})

t.test('deletions are audited once', async t => {
  const database = await testDatabase(t)
  const { project, id } = await seed(database, [{}, {}, { status: 'error' }])
  const prune = () =>
    database.pool.run(async sql => applyPruning(sql, await planPruning(sql, { project, status: 'ok' })))
  await prune()
  await prune()
  const entries = await database.pool.run(
    sql =>
      sql`select user_id, project_id, action, detail->>'traces' as traces, detail->>'status' as status from audit where action like 'trace.%'`
  )
  t.same(entries, [{ user_id: null, project_id: id, action: 'trace.prune', traces: '2', status: 'ok' }])
})

t.test('works in batches, stops between two batches on request, and continues when run again', async t => {
  const database = await testDatabase(t)
  const { project, id } = await seed(database, [{}])
  const many = Array.from({ length: 2500 }, (_, n) => ({ seq: 900_000 + n, startedAt: day(1 + (n % 3)) }))
  await database.pool.run(sql => seedTraces(sql, id, many))
  const plan = () => database.pool.run(sql => planPruning(sql, { project, before: day(9) }))
  const controller = new AbortController()
  const progress: number[] = []
  const options = {
    signal: controller.signal,
    onProgress: ({ traces }: { traces: number }) => {
      progress.push(traces)
      controller.abort()
    }
  }
  const first = await plan()
  t.equal(first.traces, 2501)
  const interrupted = database.pool.run(sql => applyPruning(sql, first, options))
  await t.rejects(interrupted, { message: /^interrupted: 1000 traces deleted; run the command again to continue$/ })
  t.same(progress, [1000])
  await checkRows(t, database)
  const entries = () =>
    database.pool.run(
      sql =>
        sql`select detail->'planned' as planned, detail->'traces' as traces from audit where action = 'trace.prune'`
    )
  t.same([...(await entries())], [{ planned: '2501', traces: '1000' }], 'the planned and the deleted number')
  const second = await plan()
  t.equal(second.traces, 1501)
  t.match(await database.pool.run(sql => applyPruning(sql, second)), { traces: 1501, kept: 0 })
  t.equal(await countTraces(database, id), 0)
  await checkRows(t, database)
  t.match(await entries(), [{}, { planned: '1501', traces: '1501' }])
})

t.test('scores that arrive meanwhile are not left behind', async t => {
  const database = await testDatabase(t)
  const score = { name: 'quality', dataType: 'numeric', value: 1, comment: null, spanId: null } as const
  for (let round = 0; round < 5; round++) {
    const ids = Array.from({ length: 40 }, () => freshId(32))
    const { project, id } = await seed(database, [])
    await database.pool.run(sql =>
      seedTraces(
        sql,
        id,
        ids.map(each => ({ id: each }))
      )
    )
    const scoring = ids.map(each => database.sqlAccess.write(sql => addScore(sql, id, each, score)))
    const pruning = database.pool.run(async sql =>
      applyPruning(sql, await planPruning(sql, { project, before: day(9) }))
    )
    await Promise.all([...scoring, pruning])
    await database.pool.run(async sql => applyPruning(sql, await planPruning(sql, { project, before: day(9) })))
    t.equal(await countTraces(database, id), 0)
    await checkRows(t, database)
  }
})

t.test('a selection needs a condition, and an existing project', async t => {
  const database = await testDatabase(t)
  const plan = (request: PruneRequest) => database.pool.run(sql => planPruning(sql, request))
  await t.rejects(plan({ project: 'none' }), { message: /at least one condition/ })
  await t.rejects(plan({ project: 'none', name: 'x' }), { message: /no project "none"/ })
})
