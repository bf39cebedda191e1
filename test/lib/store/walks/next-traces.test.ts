/** Tests the portions that bounded walks read, against their definition. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { edgeBelow, TRACE_ORDERS } from '../../../../lib/store/lists/order.ts'
import { TraceStatement } from '../../../../lib/store/lists/trace-statement.ts'
import { nextTraces } from '../../../../lib/store/walks/next-traces.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { freshId, seedProject, seedTraces } from '../../../fixtures/database/seed.ts'
import { runs } from '../../../torture/orders.ts'

const TIMES = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '2026-01-02T00:00:00.000Z']

interface Row {
  readonly place: number
  readonly id: string
  readonly key: string
  readonly fits: boolean
  readonly isExamined: boolean
}

t.test('a portion has the next traces, up to the limit on examined spans', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(sql =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ startedAt: fc.constantFrom(...TIMES), spanCount: fc.nat(4), name: fc.constantFrom('a', 'b') }),
          { maxLength: 12, size: 'max' }
        ),
        fc.integer({ min: 1, max: 8 }),
        fc.nat(6),
        fc.record({ from: fc.constantFrom(...TIMES), to: fc.constantFrom(...TIMES) }, { requiredKeys: [] }),
        async (given, size, spans, { from, to }) => {
          const projectId = await seedProject(sql)
          const traces = given.map(trace => ({ ...trace, id: freshId(32) }))
          await seedTraces(sql, projectId, traces)
          const expected = traces
            .filter(({ startedAt }) => (from ?? startedAt) <= startedAt && startedAt <= (to ?? startedAt))
            .sort((a, b) => (a.startedAt + a.id < b.startedAt + b.id ? 1 : -1))
          let edge = edgeBelow(TRACE_ORDERS.newest, undefined, to)
          for (let at = 0; ; ) {
            const statement = new TraceStatement(projectId, { sort: 'newest', limit: 1, from })
            const conditions = [`and name = ${statement.bind('a')}`]
            const rows = await sql.unsafe<Row[]>(
              `with portion as materialized (${nextTraces(statement, { edge, size, conditions, spans })})
              select place, id, key, fits, is_examined as "isExamined" from portion order by place`,
              statement.values
            )
            let sum = 0
            const portion = expected.slice(at, at + size).map(({ id, startedAt, spanCount, name }, i) => {
              const fits = name === 'a'
              sum += fits ? spanCount : 0
              return { place: i + 1, id, key: startedAt, fits, isExamined: i === 0 || sum <= spans }
            })
            assert.deepEqual([...rows], portion)
            const examined = rows.filter(({ isExamined }) => isExamined)
            at += examined.length
            if (at === expected.length) break
            edge = { key: examined.at(-1)!.key, tie: examined.at(-1)!.id, inclusive: false }
          }
        }
      ),
      runs(40)
    )
  )
})
