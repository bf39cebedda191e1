import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import t from 'tap'
import type { Edge } from '../../../../lib/store/lists/cursor.ts'
import { listScores, MAX_EXAMINED, type ScoreQuery } from '../../../../lib/store/lists/score-list.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { freshId, seedProject, seedScores, seedTraces } from '../../../fixtures/database/seed.ts'

interface Page {
  readonly ids: string[]
  readonly next: Edge | undefined
}

async function readPage(sql: Sql, projectId: number, query: ScoreQuery): Promise<Page> {
  const { scores, next } = await listScores(sql, projectId, query)
  return { ids: JSON.parse(scores).map((score: { id: string }) => score.id), next }
}

async function walk(sql: Sql, projectId: number, query: ScoreQuery, between = async () => {}): Promise<Page[]> {
  const pages = [await readPage(sql, projectId, query)]
  for (let next = pages[0]!.next; next !== undefined; next = pages.at(-1)!.next) {
    await between()
    pages.push(await readPage(sql, projectId, { ...query, after: next }))
  }
  return pages
}

const TIMES = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.001Z']
const [PRODUCTION, STAGING] = [0, 1]

/**
 * Creates a project with a trace in production, a trace in staging, and a trace recorded before environments existed.
 */
async function makeTraces(sql: Sql) {
  const projectId = await seedProject(sql)
  const environments = ['production', 'staging', null]
  const traces = environments.map(environment => ({
    seq: Number.parseInt(freshId(16), 16),
    id: freshId(32),
    environment
  }))
  await seedTraces(sql, projectId, traces)
  return { projectId, traces }
}

t.test('the list of scores', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    await t.test('returns each match once, newest first, then by insertion', async () => {
      const someScore = fc.record({
        trace: fc.nat({ max: 2 }),
        name: fc.constantFrom('a', 'b'),
        createdAt: fc.constantFrom(...TIMES)
      })
      const someFilter = fc.record(
        {
          name: fc.constantFrom('a', 'c'),
          environment: fc.constantFrom('production', 'unassigned'),
          from: fc.constantFrom(...TIMES),
          to: fc.constantFrom(...TIMES)
        },
        { requiredKeys: [] }
      )
      const time = (text: string) => text.slice(0, -1).padEnd(26, '0')
      await fc.assert(
        fc.asyncProperty(
          fc.array(someScore, { maxLength: 25 }),
          someFilter,
          fc.integer({ min: 1, max: 6 }),
          async (seeds, filter, limit) => {
            const { projectId, traces } = await makeTraces(sql)
            const scores = seeds.map(seed => ({ ...seed, traceSeq: traces[seed.trace]!.seq, id: freshId(16) }))
            await seedScores(sql, projectId, scores)
            const expected = scores
              .filter(
                score =>
                  (filter.name === undefined || score.name === filter.name) &&
                  (filter.environment === undefined || traces[score.trace]!.environment === filter.environment) &&
                  (filter.from === undefined || time(score.createdAt) >= time(filter.from)) &&
                  (filter.to === undefined || time(score.createdAt) <= time(filter.to))
              )
              .reverse()
              .sort((a, b) =>
                time(a.createdAt) < time(b.createdAt) ? 1 : time(a.createdAt) > time(b.createdAt) ? -1 : 0
              )
              .map(score => score.id)
            const late = () =>
              seedScores(sql, projectId, [{ traceSeq: traces[0]!.seq, createdAt: '2027-01-01T00:00:00Z' }])
            const pages = await walk(sql, projectId, { ...filter, limit }, late)
            assert.deepEqual(
              pages.flatMap(page => page.ids),
              expected
            )
            if (expected.length <= limit) assert.equal(pages.length, 1)
          }
        ),
        { numRuns: 60 }
      )
    })

    await t.test('with an environment, examines at most 1000 scores, and continues after the last of them', async t => {
      const { projectId, traces } = await makeTraces(sql)
      const place = (trace: number, ...at: number[]) => at.map(i => [i, trace] as const)
      const total = 2 * MAX_EXAMINED + 500
      // Newest first: the matches are at positions 0, 999 (the last of the first query), 1000, and 2400.
      const production = new Map(place(PRODUCTION, 0, 999, 1000, 2400))
      const rows = Array.from({ length: total }, (_, i) => ({
        traceSeq: traces[production.get(i) ?? STAGING]!.seq,
        id: i.toString(16).padStart(16, '0')
      }))
      // The rows are inserted in batches, because a statement may have at most 65534 parameters.
      for (const batch of [rows.slice(1250), rows.slice(0, 1250)]) await seedScores(sql, projectId, batch.toReversed())
      const pages = await walk(sql, projectId, { environment: 'production', limit: 50 })
      t.strictSame(
        pages.map(page => page.ids.map(id => Number.parseInt(id, 16))),
        [[0, 999], [1000], [2400]]
      )
      const short = await walk(sql, projectId, { environment: 'production', limit: 1 })
      t.strictSame(
        short.map(page => page.ids.map(id => Number.parseInt(id, 16))),
        [[0], [999], [1000], [2400]],
        'a full page ends at its last match'
      )
      const none = await walk(sql, projectId, { environment: 'nowhere', limit: 50 })
      t.strictSame(
        none.map(page => page.ids),
        [[], [], []],
        'pages can be empty'
      )
      const last = Number(none[0]!.next!.tie)
      const [examined] = await sql`select id from scores where project_id = ${projectId} and seq = ${last}`
      t.equal(Number.parseInt(examined!.id, 16), 999, 'the cursor points at the last score examined')
      t.equal((await walk(sql, projectId, { limit: 500 })).length, 5, 'without one, there is no such limit')
    })

    await t.test('ends if exactly 1000 scores can be examined', async t => {
      const { projectId, traces } = await makeTraces(sql)
      const rows = Array.from({ length: MAX_EXAMINED }, () => ({ traceSeq: traces[STAGING]!.seq }))
      await seedScores(sql, projectId, rows)
      t.strictSame(await walk(sql, projectId, { environment: 'production', limit: 50 }), [{ ids: [], next: undefined }])
    })

    await t.test("names each score's trace, and shows no other project", async t => {
      const mine = await makeTraces(sql)
      const other = await makeTraces(sql)
      await seedScores(sql, mine.projectId, [{ traceSeq: mine.traces[0]!.seq, id: '0a'.repeat(8), value: '0.25' }])
      await seedScores(sql, other.projectId, [{ traceSeq: other.traces[0]!.seq }])
      const { scores } = await listScores(sql, mine.projectId, { limit: 5 })
      t.strictSame(JSON.parse(scores), [
        {
          id: '0a'.repeat(8),
          traceId: mine.traces[0]!.id,
          spanId: null,
          name: 'quality',
          dataType: 'numeric',
          value: 0.25,
          comment: null,
          source: 'api',
          evaluatorId: null,
          runId: null,
          createdAt: '2026-01-01T00:00:00.000Z'
        }
      ])
    })
  })
})
