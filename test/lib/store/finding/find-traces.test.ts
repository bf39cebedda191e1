/** Tests where a search stops, and how it continues. test/plugins/search.test.ts tests what it finds. */
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

t.test('paging up returns the same traces as paging down, for every order and limit', async t => {
  const { call, database } = await testService(t)
  const statuses = ['ok', 'error', 'unset']
  for (let i = 0; i < 12; i++) {
    const body = ingestBody({
      name: `name ${i % 2}`,
      status: statuses[i % 3],
      userId: `user ${i % 4}`,
      costUsd: (i * 7) % 5,
      startedAt: `2026-11-21T12:00:0${i % 5}.000Z`,
      endedAt: `2026-11-21T12:01:${10 + ((i * 5) % 7)}.000Z`,
      spans: [span({ name: `step ${i % 3}`, kind: 'tool', status: i % 2 === 0 ? 'error' : 'ok', output: 'no bank' })]
    })
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  }
  const queries: Parameters<typeof readSearch>[0][] = [
    {},
    { status: 'error' },
    { name: 'name 1', userId: 'user 1' },
    { step: 'step 1' },
    { errors: true, from: '2026-11-21T12:00:01Z', to: '2026-11-21T12:00:03Z' },
    { minCostUsd: 1, maxCostUsd: 3 },
    { minDurationMs: 68_000, name: 'name 0' },
    { error: 'bank' }
  ]
  for (const query of queries) {
    for (const sort of ['newest', 'slowest', 'costliest'] as const) {
      for (const traces of [2, 5000]) {
        const walk = { traces, ms: Number.MAX_SAFE_INTEGER }
        const page = (at: { readonly after?: Edge | undefined; readonly before?: Edge | undefined }) => {
          const asked = readSearch({ ...query, sort, limit: 2 })
          const search = { ...asked, query: { ...asked.query, ...at } }
          const bounds = { ...CANDIDATE_BOUNDS, walk }
          return database.pool.run(async sql => (await findTracePage(sql, 1, search, SCHEMA_NAMES, bounds))!)
        }
        const down = [await page({})]
        while (down.at(-1)!.next !== undefined) down.push(await page({ after: down.at(-1)!.next }))
        t.equal(down[0]!.previous, undefined)
        const up: FoundPage[] = [down.at(-1)!]
        while (up[0]!.previous !== undefined) up.unshift(await page({ before: up[0]!.previous }))
        const idsOf = (pages: readonly FoundPage[]) => pages.flatMap(({ found }) => found.map(({ id }) => id))
        t.same(idsOf(up), idsOf(down), `${JSON.stringify(query)}, ${sort}, ${traces} at once`)
        t.ok(idsOf(down).length > 1, JSON.stringify(query))
      }
    }
  }
})
