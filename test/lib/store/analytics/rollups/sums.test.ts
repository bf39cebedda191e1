/**
 * Compares every sum over a period with a sum that this file computes from the traces one by one. Each sum is read from
 * all tables that can supply it.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { BOUNDS, bucketOf, COARSE_BUCKETS } from '../../../../../lib/rollups/latency.ts'
import { periodBetween, STEPS } from '../../../../../lib/rollups/period.ts'
import { foldDeltas } from '../../../../../lib/store/analytics/rollups/fold.ts'
import { makeFortnight } from '../../../../../lib/store/analytics/rollups/fortnights.ts'
import {
  readGroupSeries,
  readSeries,
  readTotal,
  readTotals
} from '../../../../../lib/store/analytics/rollups/read-series.ts'
import type { ChartFilters } from '../../../../../lib/store/analytics/rollups/sums.ts'
import { testDatabase } from '../../../../fixtures/database/database.ts'
import { seedProject, seedTraces } from '../../../../fixtures/database/seed.ts'
import { runs } from '../../../../torture/orders.ts'

const BEGIN = Date.UTC(2026, 0, 1)
const DAYS = 75
const NAMES = ['answer', 'search', 'summary']
const given = Array.from({ length: 200 }, (_, i) => ({
  name: NAMES[i % 3]!,
  model: [null, 'm1', 'm2'][Math.floor(i / 3) % 3]!,
  status: ['ok', 'error'][Math.floor(i / 9) % 2]!,
  environment: ['prod', 'staging'][i % 2]!,
  startedAt: new Date(BEGIN + ((i * 7919) % (DAYS * 24 * 60)) * 60_000).toISOString(),
  durationMs: 10 * i,
  costUsd: i % 4 === 0 ? null : i
}))
type Given = (typeof given)[number]

const filters: fc.Arbitrary<ChartFilters> = fc.record(
  {
    name: fc.constantFrom('answer', 'nobody'),
    model: fc.constantFrom('m1'),
    status: fc.constantFrom('ok', 'error'),
    environment: fc.constantFrom('prod')
  },
  { requiredKeys: [] }
)
const times = fc
  .tuple(fc.integer({ min: -10, max: DAYS }), fc.integer({ min: 1, max: DAYS * 24 }), fc.boolean())
  .map(([day, hours, isOfDays]) => {
    const from = BEGIN + day * STEPS.day
    return periodBetween(
      from + (isOfDays ? 0 : 5 * STEPS.hour),
      from + (isOfDays ? 15 * 24 + hours : 7 + (hours % 300)) * STEPS.hour
    )
  })

function fitting({ from, to }: { from: number; to: number }, wanted: ChartFilters): Given[] {
  return given.filter(
    trace =>
      Date.parse(trace.startedAt) >= from &&
      Date.parse(trace.startedAt) < to &&
      Object.entries(wanted).every(([field, value]) => trace[field as keyof Given] === value)
  )
}
const sumOf = (traces: readonly Given[]) => ({
  traces: traces.length,
  errors: traces.filter(({ status }) => status === 'error').length,
  cost: traces.reduce((sum, { costUsd }) => sum + (costUsd ?? 0) * 1e9, 0)
})
const countsOf = ({ traces, errors, cost }: ReturnType<typeof sumOf>) => ({ traces, errors, cost })

t.test('hours, days, fortnights and deltas are the sums of the traces, with any filters and groups', async t => {
  const { pool } = await testDatabase(t)
  const project = await pool.run(seedProject)
  await pool.run(sql => seedTraces(sql, project, given))
  // A third of the traces remains as deltas, so some fortnights are removed when the second fold changes their days.
  await pool.run(async sql => {
    await foldDeltas(sql, project, 100)
    while (await makeFortnight(sql, project, Date.UTC(2026, 5, 1))) {}
    await foldDeltas(sql, project, 3)
    const rows = await sql<{ level: string; starts: number }[]>`
      select level::text, count(distinct start)::int as starts from rollups
      where project_id = ${project} and level in ('1', '4', 'E') group by level order by level`
    const [fortnights, kinds] = rows.map(({ starts }) => starts) as [number, number]
    t.ok(fortnights > 1 && fortnights === kinds, `${fortnights} fortnights`)
    await fc.assert(
      fc.asyncProperty(
        times,
        filters,
        fc.constantFrom('model', 'name', 'environment'),
        async (period, wanted, split) => {
          const expected = fitting(period, wanted)
          const [total] = await readTotal(sql, project, period, wanted)
          assert.deepEqual(
            total === undefined ? undefined : countsOf(total),
            expected.length === 0 ? undefined : sumOf(expected)
          )
          const steps = await readSeries(sql, project, period, wanted)
          assert.equal(
            steps.reduce((sum, { latency }) => sum + BigInt(latency), 0n),
            BigInt(total?.latency ?? 0)
          )
          const { rows } = await readTotals(sql, project, period, split, wanted)
          const groups = new Set(expected.map(trace => trace[split]))
          assert.deepEqual(new Set(rows.map(({ key }) => key)), groups)
          for (const row of rows) {
            assert.deepEqual(countsOf(row), sumOf(expected.filter(trace => trace[split] === row.key)))
          }
          const keys = rows.slice(0, 1).map(({ key }) => key)
          const parts = await readGroupSeries(sql, project, { period, split, filters: wanted, keys })
          for (const isOther of [false, true]) {
            const own = parts.filter(part => part.isOther === isOther)
            const traces = expected.filter(trace => keys.includes(trace[split]) !== isOther)
            assert.equal(
              own.reduce((sum, part) => sum + part.traces, 0),
              traces.length
            )
            assert.deepEqual(
              new Set(own.map(({ key }) => key)),
              new Set(isOther && own.length > 0 ? [null] : own.length > 0 ? keys : [])
            )
          }
        }
      ),
      runs(60)
    )
  })
})

t.test("the view for people has each histogram's buckets as rows", async t => {
  const { pool } = await testDatabase(t)
  const project = await pool.run(seedProject)
  const durations = [0, 0, 1, 7, 7, 9, 1e6, 2 ** 27, 2 ** 28]
  const traces = durations.map(durationMs => ({ ...given[0]!, durationMs, environment: 'prod', name: 'answer' }))
  await pool.run(sql => seedTraces(sql, project, traces))
  await pool.run(sql => foldDeltas(sql, project, 100))
  const rows = await pool.run(
    sql => sql`
      select from_ms::float8 as "from", to_ms::float8 as "to", traces::int from rollup_latencies
      where project_id = ${project} and length = 'day' and grouped_by = 'name in environment' order by from_ms`
  )
  const expected = new Map<number, number>()
  const fineOf = (ms: number) => bucketOf(ms) - COARSE_BUCKETS
  for (const ms of durations) expected.set(fineOf(ms), (expected.get(fineOf(ms)) ?? 0) + 1)
  t.same(
    rows,
    Array.from(expected, ([bucket, traces]) => ({
      from: bucket === 0 ? 0 : BOUNDS[bucket - 1],
      to: BOUNDS[bucket] ?? null,
      traces
    }))
  )
  // A histogram from before migration 21: two traces below 1 ms, and one from 1449 to below 1723 ms.
  const old = await pool.run(async sql => {
    await sql`update rollups set latency = ${`1${'0'.repeat(12 * 38 - 1)}2`}::text::numeric where level = 'E'`
    return sql`
      select from_ms::float8 as "from", to_ms::float8 as "to", traces::int from rollup_latencies
      where project_id = ${project} and length = 'day' and grouped_by = 'environment' order by from_ms`
  })
  t.same(old, [
    { from: 0, to: 1, traces: 2 },
    { from: 1449, to: 1723, traces: 1 }
  ])
  const groups = await pool.run(
    sql => sql`select distinct length, grouped_by as "groupedBy" from rollup_latencies where project_id = ${project}`
  )
  t.equal(groups.length, 8, 'hours and days, by environment, family, and names in either')
})
