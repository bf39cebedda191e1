/**
 * Tests that portions of candidates are in the order of the page, whichever index leads to them.
 * test/plugins/search.test.ts tests whole searches.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SCHEMA_NAMES } from '../../../../lib/database/tables.ts'
import { foldDeltas } from '../../../../lib/store/analytics/rollups/fold.ts'
import { candidateReader, keyRange } from '../../../../lib/store/finding/candidates.ts'
import type { Edge } from '../../../../lib/store/lists/cursor.ts'
import { edgeBelow, TRACE_ORDERS } from '../../../../lib/store/lists/order.ts'
import { readSearch } from '../../../../plugins/search.ts'
import { ingestBody } from '../../../fixtures/bodies/bodies.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { Recording, recorded } from '../../../fixtures/statements/record.ts'
import { runs } from '../../../torture/orders.ts'

const startOf = (i: number) => `2026-11-21T12:00:0${i}.000Z`
const endOf = (i: number) => `2026-11-21T12:01:${10 + ((i * 7) % 10)}.000Z`

t.test('each trace that meets the conditions is returned once, in order', async t => {
  const { call, database } = await testService(t)
  const bodies = Array.from({ length: 8 }, (_, i) =>
    ingestBody({
      ...{ startedAt: startOf(i), endedAt: endOf(i), name: i % 2 === 0 ? 'even' : 'odd', costUsd: ((i * 5) % 8) / 8 },
      ...{
        sessionId: i < 5 ? 's' : 'other',
        userId: i < 6 ? 'u' : 'v',
        tags: i % 3 === 0 ? ['third'] : [],
        status: i < 3 ? 'error' : 'ok'
      }
    })
  )
  for (const { trace } of bodies) {
    t.equal((await call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })).status, 201)
    const score = { name: 'h', dataType: 'numeric', value: trace.costUsd }
    t.equal((await call('POST', `/api/v1/traces/${trace.id}/scores`, { body: score })).status, 201)
  }
  // A user with too many traces is known from the sums of users.
  await database.pool.run(sql => foldDeltas(sql, 1, 1000))
  const traces = bodies.map(({ trace }) => trace)
  const ms = (one: (typeof traces)[number]) => Date.parse(one.endedAt) - Date.parse(one.startedAt)
  const keys = {
    newest: (one: (typeof traces)[number]) => Date.parse(one.startedAt),
    slowest: ms,
    costliest: (one: (typeof traces)[number]) => one.costUsd
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('newest' as const, 'slowest' as const, 'costliest' as const),
      fc.record(
        {
          name: fc.constant('even'),
          sessionId: fc.constant('s'),
          userId: fc.constant('u'),
          tag: fc.constantFrom<string[]>(['third']),
          from: fc.constant(startOf(2)),
          errors: fc.constant(true),
          score: fc.constantFrom<string[]>(['h>=0.5']),
          minCostUsd: fc.constant(0.25)
        },
        { requiredKeys: [] }
      ),
      fc.record({
        sorted: fc.constantFrom(0, 3, 1000),
        few: fc.constantFrom(0, 3, 1000),
        spans: fc.constant(1000)
      }),
      fc.integer({ min: 1, max: 9 }),
      async (sort, given, bounds, size) => {
        const { query, conditions } = readSearch({ ...given, sort, limit: 5 })
        const meets = (one: (typeof traces)[number]) =>
          (given.name === undefined || one.name === given.name) &&
          (given.sessionId === undefined || one.sessionId === given.sessionId) &&
          (given.userId === undefined || one.userId === given.userId) &&
          (given.tag === undefined || one.tags.includes('third')) &&
          (given.from === undefined || one.startedAt >= given.from) &&
          (given.errors === undefined || one.status === 'error') &&
          (given.score === undefined || one.costUsd >= 0.5) &&
          (given.minCostUsd === undefined || one.costUsd >= given.minCostUsd)
        const expected = traces.filter(meets).sort((a, b) => keys[sort](b) - keys[sort](a))
        const found: string[] = []
        await database.pool.run(async sql => {
          const read = candidateReader({ sql, projectId: 1, names: SCHEMA_NAMES, query, conditions }, bounds)
          const { highestKey: key, highestTie: tie } = TRACE_ORDERS[sort]
          let edge: Edge =
            sort === 'newest' ? edgeBelow(TRACE_ORDERS.newest, undefined, query.to) : { key, tie, inclusive: true }
          for (let portions = 0, hasMore = true; hasMore; portions++) {
            assert.ok(portions < 20)
            const portion = await read(edge, size)
            assert.ok(portion.candidates.length <= size)
            found.push(...portion.candidates.filter(({ fits }) => fits).map(({ id }) => id))
            edge = portion.candidates.at(-1)?.at ?? edge
            hasMore = portion.hasMore
          }
        })
        assert.deepEqual(
          found,
          expected.map(({ id }) => id)
        )
      }
    ),
    runs(60)
  )
})

t.test("a user's traces are not sorted if the sums of users count too many", async t => {
  const { call, database } = await testService(t)
  for (let i = 0; i < 8; i++) {
    const day = 20 + Math.floor(i / 4)
    const [startedAt, endedAt] = [`2026-11-${day}T12:00:00Z`, `2026-11-${day}T12:00:0${i}Z`]
    const body = ingestBody({ startedAt, endedAt, userId: 'u', status: i === 0 ? 'error' : 'ok' })
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  }
  await database.pool.run(sql => foldDeltas(sql, 1, 1000))
  const isSorted = async (given: object, sorted: number): Promise<boolean> => {
    const recording = new Recording()
    const sql = recorded(database, recording).connect()
    t.teardown(() => sql.end({ timeout: 1 }))
    const { query, conditions } = readSearch({ userId: 'u', sort: 'slowest', limit: 5, ...given })
    const bounds = { sorted, few: 1000, spans: 1000 }
    const { highestKey: key, highestTie: tie } = TRACE_ORDERS.slowest
    const read = candidateReader({ sql, projectId: 1, names: SCHEMA_NAMES, query, conditions }, bounds)
    t.equal((await read({ key, tie, inclusive: true }, 10)).candidates.filter(({ fits }) => fits).length > 0, true)
    return [...recording.texts].some(text => text.includes('members as materialized'))
  }
  t.equal(await isSorted({}, 7), false)
  t.equal(await isSorted({}, 8), true)
  t.equal(await isSorted({ status: 'error' }, 7), true, 'other filters leave fewer traces')
  const [from, to] = ['2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z']
  t.equal(await isSorted({ from, to }, 3), false)
  t.equal(await isSorted({ from, to }, 4), true, 'the other day is not counted')
  t.equal(await isSorted({ from: '2026-11-20T00:00:01Z', to }, 3), true, 'only whole days are counted')
})

t.test('the range of the sort key matches the condition on it', async t => {
  const { conditions } = readSearch({ minDurationMs: 5, maxCostUsd: 2 })
  t.same(keyRange('newest', conditions), {})
  t.match(keyRange('slowest', conditions), { min: 5, max: undefined })
  t.match(keyRange('costliest', conditions), { min: undefined, max: 2 })
})
