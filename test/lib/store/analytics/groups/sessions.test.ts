import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import t from 'tap'
import { listSessions, MOST_ADDED_UP, readSessionSums } from '../../../../../lib/store/analytics/groups/sessions.ts'
import type { Edge } from '../../../../../lib/store/lists/cursor.ts'
import { testDatabase } from '../../../../fixtures/database/database.ts'
import { freshId, type SeedTrace, seedProject, seedTraces } from '../../../../fixtures/database/seed.ts'

type Query = Omit<Parameters<typeof listSessions>[2], 'after'>

async function walk(sql: Sql, projectId: number, query: Query, most: number) {
  const groups = []
  let after: Edge | undefined
  let pages = 0
  do {
    const page = await listSessions(sql, projectId, { ...query, after }, most)
    groups.push(...page.groups)
    after = page.next
    assert.ok(++pages < 200)
  } while (after !== undefined)
  return groups
}

const timeOf = (minute: number) => new Date(Date.parse('2026-11-20T10:00:00Z') + minute * 60_000).toISOString()
const SESSIONS = ['a', 'ab', 'a%', 'Ä', 'b/1', null, null]
const ENVIRONMENTS = ['production', 'staging', null]

const someTrace = fc.record({
  sessionId: fc.constantFrom(...SESSIONS),
  environment: fc.constantFrom(...ENVIRONMENTS),
  startedAt: fc.nat({ max: 6 }).map(timeOf),
  status: fc.constantFrom('ok', 'error'),
  costUsd: fc.constantFrom(null, 0.5, 0.25),
  id: fc.constant('').map(() => freshId(32))
})
type Made = Required<Pick<SeedTrace, 'sessionId' | 'startedAt' | 'status' | 'costUsd' | 'environment' | 'id'>>

/** Computes the expected groups from the stored traces, regardless of how the server reads them. */
function expected(traces: readonly Made[], { prefix, environment }: Query) {
  const newestFirst = traces.toSorted((a, b) => (a.startedAt + a.id < b.startedAt + b.id ? 1 : -1))
  const fitting = newestFirst.filter(
    ({ sessionId, environment: of }) =>
      sessionId?.startsWith(prefix ?? '') && (environment === undefined || of === environment)
  )
  const ids = [...new Set(fitting.map(({ sessionId }) => sessionId as string))]
  return ids.map(id => {
    const own = newestFirst.filter(({ sessionId }) => sessionId === id)
    const costs = own.flatMap(({ costUsd }) => (costUsd === null ? [] : [costUsd]))
    return {
      id,
      lastAt: fitting.find(({ sessionId }) => sessionId === id)!.startedAt,
      traces: own.length,
      isMore: false,
      errors: own.filter(({ status }) => status === 'error').length,
      inputTokens: 0,
      outputTokens: 0,
      costUsd: costs.length === 0 ? null : costs.reduce((sum, each) => sum + each),
      firstAt: own.at(-1)!.startedAt
    }
  })
}

t.test('the list of sessions', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await t.test("returns each session once, at its last trace's position, with the sums of its traces", async () => {
      const someQuery = fc.record(
        { environment: fc.constantFrom('production', 'staging'), limit: fc.integer({ min: 1, max: 4 }) },
        { requiredKeys: ['limit'] }
      )
      const property = fc.asyncProperty(
        fc.array(someTrace, { maxLength: 14 }),
        someQuery,
        fc.integer({ min: 1, max: 9 }),
        async (traces, query, most) => {
          const projectId = await seedProject(sql)
          await seedTraces(sql, projectId, traces)
          const made = traces as Made[]
          assert.deepEqual(await walk(sql, projectId, query, most), expected(made, query))
          for (const prefix of ['a', 'b', 'none']) {
            const found = await walk(sql, projectId, { ...query, prefix }, most)
            const wanted = expected(made, { ...query, prefix })
            const exact = expected(made, query).filter(({ id }) => id === prefix)
            assert.deepEqual(found, [...exact, ...wanted.filter(({ id }) => id !== prefix)])
          }
        }
      )
      await fc.assert(property, { numRuns: 15 })
    })

    await t.test('bounds the sums of a long session', async t => {
      const projectId = await seedProject(sql)
      const traces = Array.from({ length: MOST_ADDED_UP + 2 }, (_, i) => ({
        sessionId: 'long',
        startedAt: timeOf(i),
        costUsd: 1
      }))
      await seedTraces(sql, projectId, traces)
      const [long, ...others] = await readSessionSums(sql, projectId, ['long', 'none'])
      t.match(long, { id: 'long', traces: MOST_ADDED_UP, isMore: true, costUsd: MOST_ADDED_UP, firstAt: timeOf(0) })
      t.same(others, [])
    })
  })
})
