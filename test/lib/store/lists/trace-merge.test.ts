/** Compares the merged lists of families with a sort of all traces. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SCHEMA_NAMES } from '../../../../lib/database/tables.ts'
import type { Edge } from '../../../../lib/store/lists/cursor.ts'
import { edgeAbove, edgeBelow, type Sort, TRACE_ORDERS } from '../../../../lib/store/lists/order.ts'
import { readSummaries } from '../../../../lib/store/lists/summary-page.ts'
import { mergeLists } from '../../../../lib/store/lists/trace-merge.ts'
import type { TraceFilters } from '../../../../lib/store/lists/trace-query.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { cutRankings, freshId, type SeedTrace, seedProject, seedTraces } from '../../../fixtures/database/seed.ts'
import { runs } from '../../../torture/orders.ts'

const someTrace = fc.record({
  startedAt: fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '2026-01-02T00:00:00.000Z'),
  durationMs: fc.constantFrom(null, 0, 1, 70),
  costUsd: fc.constantFrom(null, 0, 0.3),
  name: fc.constantFrom('a', 'b'),
  // There are more families than the server reads to find a bound.
  model: fc.constantFrom(null, 'm', 'n', 'o', 'p', 'q'),
  environment: fc.constantFrom('production', 'unassigned'),
  tags: fc.constantFrom(null, ['x'], ['x', 'y']),
  userId: fc.constantFrom('u', null)
})
type Trace = Required<Pick<SeedTrace, 'id' | 'startedAt'>> & SeedTrace
const someFilters: fc.Arbitrary<TraceFilters> = fc.record(
  {
    name: fc.constantFrom('a', 'c'),
    model: fc.constantFrom('m', 'z'),
    environment: fc.constant('production'),
    tag: fc.constantFrom('x', 'y'),
    userId: fc.constant('u')
  },
  { requiredKeys: [] }
)
const KEYS = { newest: 'startedAt', slowest: 'durationMs', costliest: 'costUsd' } as const satisfies Record<
  Sort,
  keyof SeedTrace
>

/** Returns all matching traces, in the order of the list. */
function matching(traces: readonly Trace[], sort: Sort, { tag, ...equal }: TraceFilters): Trace[] {
  const key = (trace: Trace) => trace[KEYS[sort]] as string | number
  return traces
    .filter(trace => key(trace) !== null && (tag === undefined || trace.tags?.includes(tag)))
    .filter(trace => Object.entries(equal).every(([name, value]) => trace[name as 'name'] === value))
    .sort((a, b) => (key(a) === key(b) ? (a.id < b.id ? 1 : -1) : key(a) < key(b) ? 1 : -1))
}

const database = await testDatabase(t)
const shuffled = () => freshId(32).split('').reverse().join('')

t.test('a page has the nearest matches, from any position in the list, up or down', async () => {
  const place = fc.record({ at: fc.nat(), down: fc.boolean() })
  await database.pool.run(sql =>
    fc.assert(
      fc.asyncProperty(
        fc.array(someTrace, { minLength: 1, maxLength: 30, size: 'max' }),
        fc.constantFrom<Sort>('newest', 'slowest', 'costliest'),
        someFilters,
        fc.option(place),
        fc.integer({ min: 1, max: 6 }),
        async (seeds, sort, filters, place, limit) => {
          const projectId = await seedProject(sql)
          const traces = seeds.map(seed => ({ ...seed, id: shuffled() }))
          await seedTraces(sql, projectId, traces)
          // The cursor may belong to a trace that does not match, because a cursor is only a position in an order.
          const all = matching(traces, sort, {})
          const at = place === null || all.length === 0 ? undefined : all[place.at % all.length]
          const down = at === undefined || place?.down === true
          const cursor: Edge | undefined = at && { key: String(at[KEYS[sort]]), tie: at.id, inclusive: false }
          const order = TRACE_ORDERS[sort]
          const edge = down ? edgeBelow(order, cursor, undefined) : edgeAbove(order, cursor!, undefined)
          const start = { edge, down, isCursor: at !== undefined, limit }
          const found = await mergeLists(
            { sql, projectId, query: { sort, limit, ...filters }, start, names: SCHEMA_NAMES },
            1000
          )
          const list = matching(traces, sort, filters)
          const rank = (trace: Trace) => all.findIndex(({ id }) => id === trace.id)
          const below = at === undefined ? list : list.filter(trace => rank(trace) > rank(at))
          const above = at === undefined ? [] : list.filter(trace => rank(trace) < rank(at))
          const isHere = list.some(trace => trace === at)
          const [ahead, behind] = down ? [below, above] : [above.reverse(), below]
          const ids = readSummaries(found?.page ?? null).map(({ id }) => id)
          assert.deepEqual(
            ids,
            ahead.slice(0, limit + 1).map(({ id }) => id)
          )
          assert.equal(found?.behind, behind.length > 0 || isHere)
        }
      ),
      runs(30)
    )
  )
})

t.test('too many families, and traces below a floor, are left to other methods', async t => {
  const start = { edge: edgeBelow(TRACE_ORDERS.slowest, undefined, undefined), down: true, isCursor: false, limit: 3 }
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    const traces = Array.from({ length: 9 }, (_, i) => ({ id: shuffled(), model: `m${i % 3}`, durationMs: i }))
    await seedTraces(sql, projectId, traces)
    const page = (mostFamilies: number, limit = 3) =>
      mergeLists(
        {
          sql,
          projectId,
          query: { sort: 'slowest', limit, environment: 'unassigned' },
          start: { ...start, limit },
          names: SCHEMA_NAMES
        },
        mostFamilies
      )
    t.equal(await page(2), undefined)
    const slowest = traces.toReversed().map(({ id }) => id)
    t.strictSame(
      readSummaries((await page(3))!.page).map(({ id }) => id),
      slowest.slice(0, 4)
    )
    await cutRankings(sql, projectId, { most: 2, kept: 1 })
    t.equal(await page(3, 8), undefined, 'of each list only the slowest is ranked')
  })
})
