import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import t from 'tap'
import { SCHEMA_NAMES } from '../../../../lib/database/tables.ts'
import { readTraceDetail } from '../../../../lib/store/answers/traces.ts'
import type { Edge } from '../../../../lib/store/lists/cursor.ts'
import type { Sort } from '../../../../lib/store/lists/order.ts'
import { listTraces } from '../../../../lib/store/lists/trace-list.ts'
import type { TraceFilters, TraceQuery } from '../../../../lib/store/lists/trace-query.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import {
  cutRankings,
  freshId,
  type SeedTrace,
  seedProject,
  seedScores,
  seedTraces
} from '../../../fixtures/database/seed.ts'
import { runs } from '../../../torture/orders.ts'

interface Page {
  readonly ids: string[]
  readonly next: Edge | undefined
  readonly previous: Edge | undefined
}

type Bounds = Parameters<typeof listTraces>[4]

async function readPage(sql: Sql, projectId: number, query: TraceQuery, bounds?: Bounds): Promise<Page> {
  const { traces, next, previous } = await listTraces(sql, projectId, query, SCHEMA_NAMES, bounds)
  return { ids: JSON.parse(traces).map((trace: { id: string }) => trace.id), next, previous }
}

type Asked = Omit<TraceQuery, 'after' | 'before'>

/** Reads the pages from the first, or from a cursor, to the last. Runs `between` after each page. */
async function walkDown(
  sql: Sql,
  projectId: number,
  query: Asked,
  between = async () => {},
  bounds?: Bounds
): Promise<Page[]> {
  const pages = [await readPage(sql, projectId, query, bounds)]
  for (let next = pages[0]!.next; next !== undefined; next = pages.at(-1)!.next) {
    await between()
    pages.push(await readPage(sql, projectId, { ...query, after: next }, bounds))
  }
  return pages
}

/** Reads the pages from the one before `page` back to the first. Returns them in the order of the list. */
async function walkUp(sql: Sql, projectId: number, query: Asked, page: Page, bounds?: Bounds): Promise<Page[]> {
  const pages: Page[] = []
  for (let previous = page.previous; previous !== undefined; previous = pages[0]!.previous) {
    pages.unshift(await readPage(sql, projectId, { ...query, before: previous }, bounds))
  }
  return pages
}

/** Each field has few values, so that many rows are equal in the sort column. */
const TIMES = [
  '2026-01-01T00:00:00.000Z',
  '2026-01-01T00:00:00.000001Z',
  '2026-01-01T00:00:00.001Z',
  '0001-01-01T00:00:00.000Z'
]
const someTrace = fc.record({
  startedAt: fc.constantFrom(...TIMES),
  durationMs: fc.constantFrom(null, 0, 1, 70),
  costUsd: fc.constantFrom(null, 0, 1e-7, 0.1 + 0.2, 0.3),
  name: fc.constantFrom('a', 'b'),
  model: fc.constantFrom('m', null),
  environment: fc.constantFrom('production', 'unassigned', null),
  tags: fc.constantFrom(null, ['x'], ['x', 'y']),
  userId: fc.constantFrom('u', null),
  sessionId: fc.constantFrom('s', null, null),
  isRun: fc.boolean()
}) satisfies fc.Arbitrary<SeedTrace>
type SomeTrace = SeedTrace & { readonly id: string; readonly startedAt: string }

const someFilters: fc.Arbitrary<TraceFilters> = fc.record(
  {
    name: fc.constantFrom('a', 'c'),
    model: fc.constant('m'),
    environment: fc.constantFrom('production', 'unassigned'),
    tag: fc.constantFrom('x', 'y'),
    userId: fc.constant('u'),
    sessionId: fc.constant('s'),
    runsOnly: fc.boolean()
  },
  { requiredKeys: [] }
)
/** Bounds that are sometimes too small for merging families, for reading nearby rows, or for sorting. */
const someBounds = fc.record({
  mostFamilies: fc.constantFrom(0, 1, 1000),
  near: fc.constantFrom(0, 8, 1000),
  few: fc.constantFrom(0, 3, 1000),
  runs: fc.constantFrom(0, 1, 5, 1000)
})
/** The size to which rankings are cut. */
const someSize = fc.option(fc.record({ most: fc.constantFrom(0, 2, 4), kept: fc.constantFrom(0, 1) }))
const someTimes = fc.record({ from: fc.constantFrom(...TIMES), to: fc.constantFrom(...TIMES) }, { requiredKeys: [] })

/** Returns shuffled ids, so that ids are unrelated to the order of other columns. */
const shuffledIds = (count: number): string[] =>
  Array.from({ length: count }, () => freshId(32).split('').reverse().join(''))

/** Converts a canonical timestamp to a string that sorts by time. */
const order = (time: string) => time.slice(0, -1).padEnd(26, '0')

const compare = <T extends string | number>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0)

const KEYS: Record<Sort, (trace: SomeTrace) => string | number | null> = {
  newest: (trace: SomeTrace) => order(trace.startedAt),
  slowest: (trace: SomeTrace) => trace.durationMs ?? null,
  costliest: (trace: SomeTrace) => trace.costUsd ?? null
}

/** Computes a list by its definition: the matching ids, in order. */
function expected(traces: readonly SomeTrace[], { sort, ...filters }: Asked): string[] {
  const key = KEYS[sort]
  return traces
    .filter(
      trace =>
        key(trace) !== null &&
        (filters.name === undefined || trace.name === filters.name) &&
        (filters.model === undefined || trace.model === filters.model) &&
        (filters.environment === undefined || trace.environment === filters.environment) &&
        (filters.userId === undefined || trace.userId === filters.userId) &&
        (filters.sessionId === undefined || trace.sessionId === filters.sessionId) &&
        (!filters.runsOnly || trace.isRun === true) &&
        (filters.tag === undefined || trace.tags?.includes(filters.tag)) &&
        (filters.from === undefined || order(trace.startedAt) >= order(filters.from)) &&
        (filters.to === undefined || order(trace.startedAt) <= order(filters.to))
    )
    .sort((a, b) => compare(key(b)!, key(a)!) || compare(b.id, a.id))
    .map(trace => trace.id)
}

t.test('the trace list', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    /** Walks through random traces with the given filters, and compares the pages with the expected list. */
    const walks = (filters: fc.Arbitrary<TraceFilters>, sorts: readonly Sort[], few: number) =>
      fc.assert(
        fc.asyncProperty(
          fc.array(someTrace, { maxLength: 25, size: 'max' }),
          fc.constantFrom<Sort>(...sorts),
          filters,
          someTimes,
          someSize,
          someBounds,
          fc.integer({ min: 1, max: 7 }),
          async (seeds, sort, filters, times, size, bounds, limit) => {
            const projectId = await seedProject(sql)
            const ids = shuffledIds(seeds.length)
            const traces = seeds.map((seed, i) => ({ ...seed, id: ids[i]! }))
            await seedTraces(sql, projectId, traces)
            if (size !== null) await cutRankings(sql, projectId, size)
            const { userId, sessionId, ...others } = filters
            const query = { sort, limit, ...others, ...(sort === 'newest' && { userId, sessionId, ...times }) }
            const down = await walkDown(sql, projectId, query, undefined, bounds)
            assert.deepEqual(
              down.flatMap(page => page.ids),
              expected(traces, query)
            )
            assert.equal(down[0]!.previous, undefined)
            assert.ok(down.slice(0, -1).every(page => page.ids.length === limit))
            assert.deepEqual(await walkUp(sql, projectId, query, down.at(-1)!, bounds), down.slice(0, -1))
          }
        ),
        runs(few)
      )

    await t.test('paging down and up again returns the same pages, in order, each match once', () =>
      walks(someFilters, ['newest', 'slowest', 'costliest'], 30)
    )

    await t.test('so does a tag and a name with the slowest and costliest orders', () =>
      walks(fc.constant({ tag: 'x', name: 'a' }), ['slowest', 'costliest'], 12)
    )

    await t.test('so do runs, with other filters and without', async () => {
      const other = fc.record(
        {
          name: fc.constant('a'),
          model: fc.constant('m'),
          tag: fc.constant('x'),
          userId: fc.constant('u'),
          sessionId: fc.constant('s')
        },
        { requiredKeys: [] }
      )
      const ofRuns = fc.oneof(fc.constant({}), other).map(filters => ({ ...filters, runsOnly: true }))
      await walks(ofRuns, ['newest', 'slowest', 'costliest'], 30)
    })

    await t.test('returns the existing traces exactly once, whatever is recorded meanwhile', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(someTrace, { minLength: 5, maxLength: 20 }),
          fc.array(someTrace, { minLength: 1, maxLength: 10 }),
          fc.constantFrom<Sort>('newest', 'slowest', 'costliest'),
          async (seeds, late, sort) => {
            const projectId = await seedProject(sql)
            const ids = shuffledIds(seeds.length + late.length)
            const withId = (seed: SeedTrace, i: number) => ({ ...seed, id: ids[i]! }) as SomeTrace
            const [old, fresh] = [seeds.map(withId), late.map((seed, i) => withId(seed, seeds.length + i))]
            await seedTraces(sql, projectId, old)
            const arriving = [...fresh]
            const arrive = () => seedTraces(sql, projectId, arriving.splice(0, 1))
            const query = { sort, limit: 3 }
            const down = await walkDown(sql, projectId, query, arrive)
            const oldIds = new Set(old.map(trace => trace.id))
            const seen = down.flatMap(page => page.ids)
            assert.equal(new Set(seen).size, seen.length)
            assert.deepEqual(
              seen.filter(id => oldIds.has(id)),
              expected(old, query)
            )
            await arrive()
            const up = [...(await walkUp(sql, projectId, query, down.at(-1)!)), down.at(-1)!].flatMap(page => page.ids)
            assert.deepEqual(
              up.filter(id => oldIds.has(id)),
              expected(old, query)
            )
          }
        ),
        runs(10)
      )
    })

    await t.test('an empty page leads back to the traces behind its cursor', async t => {
      const projectId = await seedProject(sql)
      const [a, b, c] = shuffledIds(3).sort() as [string, string, string]
      await seedTraces(sql, projectId, [{ id: a }, { id: b }, { id: c }])
      const query = { sort: 'newest', limit: 1 } as const
      const first = await readPage(sql, projectId, query)
      const second = await readPage(sql, projectId, { ...query, after: first.next })
      await sql`delete from traces where project_id = ${projectId} and id = ${a}`
      const empty = await readPage(sql, projectId, { ...query, after: second.next })
      t.strictSame({ ids: empty.ids, next: empty.next }, { ids: [], next: undefined })
      const back = await readPage(sql, projectId, { ...query, before: empty.previous })
      t.strictSame(back.ids, [b], 'including the row at the cursor')
      t.strictSame((await readPage(sql, projectId, { ...query, before: back.previous })).ids, [c])

      const above = await readPage(sql, projectId, { ...query, before: { ...first.next!, inclusive: false } })
      t.strictSame({ ids: above.ids, previous: above.previous }, { ids: [], previous: undefined })
      t.strictSame((await readPage(sql, projectId, { ...query, after: above.next })).ids, [c])
    })

    await t.test('a page leads on to traces that are not ranked, even if the ranking ends with it', async t => {
      const projectId = await seedProject(sql)
      const seeds = [40, 30, 20, 10].map(durationMs => ({ id: freshId(32), name: 'a', durationMs }))
      const [a, b, c] = seeds.map(({ id }) => id)
      await seedTraces(sql, projectId, seeds)
      await cutRankings(sql, projectId, { most: 2, kept: 1 })
      const query = { sort: 'slowest', name: 'a', limit: 1 } as const
      const second = await readPage(sql, projectId, { ...query, after: (await readPage(sql, projectId, query)).next })
      t.strictSame(second.ids, [b])
      await sql`delete from traces where project_id = ${projectId} and id = ${b!}`
      const first = await readPage(sql, projectId, { ...query, before: second.previous })
      t.strictSame(first.ids, [a])
      t.strictSame((await readPage(sql, projectId, { ...query, after: first.next })).ids, [c])
      t.ok(first.next, 'although nothing behind it is ranked')
    })

    await t.test("returns the newest score of each name on the page's traces", async t => {
      const projectId = await seedProject(sql)
      const base = Number.parseInt(freshId(16), 16) * 1000
      await seedTraces(sql, projectId, [
        { seq: base, startedAt: TIMES[2]!, scoreCount: 3 },
        { seq: base + 1, startedAt: TIMES[0]!, scoreCount: 1 },
        { seq: base + 2, startedAt: TIMES[3]! }
      ])
      await seedScores(sql, projectId, [
        { traceSeq: base, id: '0a'.repeat(8), name: 'x', value: '1' },
        { traceSeq: base, id: '0b'.repeat(8), name: 'x', value: '2' },
        { traceSeq: base, id: '0c'.repeat(8), name: 'y', value: '3' },
        { traceSeq: base + 1, id: '0d'.repeat(8), name: 'x', value: '4' }
      ])
      const { traces } = await listTraces(sql, projectId, { sort: 'newest', limit: 3 })
      const summary = (scoreId: string, value: number) => ({ scoreId, dataType: 'numeric', value, evaluatorId: null })
      t.strictSame(
        JSON.parse(traces).map((trace: { scores: object }) => trace.scores),
        [{ x: summary('0b'.repeat(8), 2), y: summary('0c'.repeat(8), 3) }, { x: summary('0d'.repeat(8), 4) }, {}]
      )
    })

    await t.test("shows every value as the trace's detail does", async t => {
      const projectId = await seedProject(sql)
      const odd = 'a\u0001\u0002\u001f"\\\b\n\t\u007f\u2028 ü 漢 🧵 {}'
      const seeds = [
        { name: odd, model: odd, sessionId: odd, userId: odd, tags: [odd, ',', '{', '"', 'null', ' '] },
        { name: 'null', tags: [], startedAt: '0001-01-01T00:00:00.000Z', environment: null, ingestedAt: null },
        { startedAt: '9999-12-31T23:59:59.999999Z', endedAt: '9999-12-31T23:59:59.120Z', environment: 'production' },
        { durationMs: null, status: 'running', startedAt: '2026-01-01T00:00:00.000001Z' },
        ...[0, 5e-324, 1e-7, 0.000001, 0.1 + 0.2, 100, 123456789012345680000, 1e21, 1.7976931348623157e308].map(
          costUsd => ({ costUsd })
        )
      ].map(seed => ({ ...seed, id: freshId(32) }))
      await seedTraces(sql, projectId, seeds)
      const { traces } = await listTraces(sql, projectId, { sort: 'newest', limit: 99 })
      const details = await Promise.all(seeds.map(seed => readTraceDetail(sql, projectId, seed.id)))
      for (const detail of details) {
        const summary = /^\{"trace":(\{.*"scores":\{\}),"input":/s.exec(detail!)![1]!
        t.ok(traces.includes(`${summary}}`), summary)
      }
      t.equal(JSON.parse(traces).length, seeds.length)
    })

    await t.test('finds by status, session and user, and never in another project', async t => {
      const projectId = await seedProject(sql)
      const other = await seedProject(sql)
      const [a, b, c] = shuffledIds(3) as [string, string, string]
      await seedTraces(sql, projectId, [
        { id: a, status: 'running', durationMs: null, sessionId: 's' },
        { id: b, status: 'error', userId: 'u' }
      ])
      await seedTraces(sql, other, [{ id: c, status: 'error', userId: 'u', sessionId: 's' }])
      const ids = async (filters: TraceFilters) =>
        (await readPage(sql, projectId, { sort: 'newest', limit: 9, ...filters })).ids
      t.strictSame(await ids({ status: 'running' }), [a])
      t.strictSame(await ids({ status: 'ok' }), [])
      t.strictSame(await ids({ sessionId: 's' }), [a])
      t.strictSame(await ids({ userId: 'u', status: 'error' }), [b])
      t.strictSame(await ids({ userId: 'u', sessionId: 's' }), [])
    })
  })
})
