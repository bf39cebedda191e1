import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import t from 'tap'
import { listTracedUsers, readUser } from '../../../../../lib/store/analytics/groups/user-list.ts'
import { foldDeltas } from '../../../../../lib/store/analytics/rollups/fold.ts'
import type { Edge } from '../../../../../lib/store/lists/cursor.ts'
import { testDatabase } from '../../../../fixtures/database/database.ts'
import { freshId, type SeedTrace, seedProject, seedTraces } from '../../../../fixtures/database/seed.ts'

type Query = Omit<Parameters<typeof listTracedUsers>[2], 'after'>
const FROM = '2026-11-20T00:00:00.000Z'

async function walk(sql: Sql, projectId: number, query: Query, most: number) {
  const groups = []
  let after: Edge | undefined
  let pages = 0
  do {
    const page = await listTracedUsers(sql, projectId, { ...query, after }, most)
    groups.push(...page.groups)
    after = page.next
    assert.ok(++pages < 200)
  } while (after !== undefined)
  return groups
}

const dayOf = (iso: string) => `${iso.slice(0, 10)}T00:00:00.000Z`
const timeOf = (hour: number) => new Date(Date.parse(FROM) + hour * 3_600_000).toISOString()

const someTrace = fc.record({
  userId: fc.constantFrom('ada', 'ad', 'bob', 'Ä/%', null),
  environment: fc.constantFrom('production', 'staging', null),
  // The earliest of these times is before the period that is summed.
  startedAt: fc.integer({ min: -1, max: 30 }).map(timeOf),
  status: fc.constantFrom('ok', 'error'),
  model: fc.constantFrom('m1', 'm2'),
  costUsd: fc.constantFrom(null, 0.5, 0.25),
  durationMs: fc.constantFrom(10, null),
  id: fc.constant('').map(() => freshId(32))
})
type Made = Required<
  Pick<SeedTrace, 'userId' | 'startedAt' | 'status' | 'costUsd' | 'environment' | 'id' | 'durationMs'>
>

function expected(traces: readonly Made[], { prefix = '', environment }: Partial<Query>, from = FROM) {
  const newestFirst = traces
    .filter(trace => environment === undefined || trace.environment === environment)
    .toSorted((a, b) => (a.startedAt + a.id < b.startedAt + b.id ? 1 : -1))
  const fitting = newestFirst.filter(({ userId, startedAt }) => userId?.startsWith(prefix) && startedAt >= from)
  return [...new Set(fitting.map(({ userId }) => userId as string))].map(id => {
    const own = newestFirst.filter(({ userId }) => userId === id)
    const counted = own.filter(({ startedAt, durationMs }) => durationMs !== null && startedAt >= FROM)
    const costs = counted.flatMap(({ costUsd }) => costUsd ?? [])
    return {
      id,
      traces: counted.length,
      errors: counted.filter(({ status }) => status === 'error').length,
      inputTokens: 0,
      outputTokens: 0,
      isMore: false,
      costUsd: costs.length === 0 ? null : costs.reduce((sum, each) => sum + each),
      firstAt: dayOf((own.findLast(({ durationMs }) => durationMs !== null) ?? own[0]!).startedAt),
      lastAt: own[0]!.startedAt
    }
  })
}

t.test('the list of users', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await t.test(
      "returns each user once, at their last trace's position, with sums wherever their traces are counted",
      async () => {
        const someQuery = fc.record(
          { environment: fc.constantFrom('production', 'staging'), limit: fc.integer({ min: 1, max: 4 }) },
          { requiredKeys: ['limit'] }
        )
        const property = fc.asyncProperty(
          fc.array(someTrace, { maxLength: 14 }),
          someQuery,
          fc.integer({ min: 1, max: 9 }),
          fc.nat({ max: 14 }),
          async (traces, query, most, folded) => {
            const projectId = await seedProject(sql)
            await seedTraces(sql, projectId, traces)
            if (folded > 0) await foldDeltas(sql, projectId, folded)
            const made = traces as Made[]
            const asked = { ...query, from: FROM }
            assert.deepEqual(await walk(sql, projectId, asked, most), expected(made, asked))
            const found = await walk(sql, projectId, { ...asked, prefix: 'ad' }, most)
            const exact = expected(made, query, '').filter(({ id }) => id === 'ad')
            const others = expected(made, { ...query, prefix: 'ad' }).filter(({ id }) => id !== 'ad')
            assert.deepEqual(found, [...exact, ...others])
            const user = await readUser(sql, projectId, 'bob', { from: FROM })
            assert.deepEqual(
              user && { ...user, sessions: undefined },
              expected(made, {}, '')
                .map(each => ({ ...each, sessions: undefined }))
                .find(({ id }) => id === 'bob')
            )
          }
        )
        // An earlier trace in another environment. It has not been folded.
        const own = { userId: 'ada', status: 'ok', model: 'm1', costUsd: null, durationMs: 10 } as const
        const elsewhere = [
          { ...own, environment: 'staging' as const, startedAt: timeOf(0), id: freshId(32) },
          { ...own, environment: 'production' as const, startedAt: timeOf(24), id: freshId(32) }
        ]
        await fc.assert(property, {
          numRuns: 15,
          examples: [[elsewhere, { environment: 'production', limit: 1 }, 1, 0]]
        })
      }
    )
  })
})
