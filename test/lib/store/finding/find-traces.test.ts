/** Tests where a search stops, and how it goes on. test/plugins/search.test.ts tests what it finds. */
import t from 'tap'
import { SCHEMA_NAMES } from '../../../../lib/database/tables.ts'
import { CANDIDATE_BOUNDS } from '../../../../lib/store/finding/candidates.ts'
import { type FoundPage, findTracePage } from '../../../../lib/store/finding/find-traces.ts'
import type { Edge } from '../../../../lib/store/lists/cursor.ts'
import { readSearch } from '../../../../plugins/search.ts'
import { ingestBody, span } from '../../../fixtures/bodies/bodies.ts'
import { testService } from '../../../fixtures/service/service.ts'

t.test('a search that reaches its limit has examined that many traces, and continues after them', async t => {
  const { call, database } = await testService(t)
  const bodies = Array.from({ length: 4 }, (_, i) =>
    ingestBody({
      startedAt: `2026-11-21T12:00:0${i}.000Z`,
      endedAt: '2026-11-21T12:01:00.000Z',
      spans: [span({ kind: 'tool', status: 'error', output: i === 0 ? 'no stock' : 'no bank' })]
    })
  )
  for (const body of bodies) t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const asked = readSearch({ error: 'stock', limit: 2 })
  const find = (traces: number, after?: Edge) =>
    database.pool.run(async sql => {
      const walk = { traces, ms: Number.MAX_SAFE_INTEGER }
      const search = { ...asked, query: { ...asked.query, after } }
      return (await findTracePage(sql, 1, search, SCHEMA_NAMES, { ...CANDIDATE_BOUNDS, walk }))!
    })
  const ids = ({ found }: FoundPage) => found.map(({ id }) => id)
  const first = await find(3)
  t.same(ids(first), [])
  t.match(first, { examined: 3, reached: { key: bodies[1]!.trace.startedAt, tie: bodies[1]!.trace.id } })
  t.same(first.next, first.reached)
  const second = await find(3, first.next)
  t.same(ids(second), [bodies[0]!.trace.id])
  t.match(second, { examined: 1, next: undefined, reached: undefined })
  t.match(await find(4), { examined: 4, next: undefined, reached: undefined })
})
