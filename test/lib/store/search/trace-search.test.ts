import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import t from 'tap'
import type { WritePath } from '../../../../lib/ingest/write-path.ts'
import { readWanted } from '../../../../lib/search/wanted.ts'
import { deleteTrace } from '../../../../lib/store/deletion.ts'
import type { Edge } from '../../../../lib/store/lists/cursor.ts'
import type { TraceQuery } from '../../../../lib/store/lists/trace-query.ts'
import { fillBack, foldTerms, indexNews, sweepSegment } from '../../../../lib/store/search/indexing.ts'
import { findDue, readSearchState, setSearch } from '../../../../lib/store/search/state.ts'
import { type SearchBounds, searchTraces } from '../../../../lib/store/search/trace-search.ts'
import { endBody, ingestBody, span, spansBody, startBody, traceId } from '../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { seedProject } from '../../../fixtures/database/seed.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'
import { isLong } from '../../../torture/orders.ts'

const rest = async () => {}
const act = (projectId: number) => ({ by: null, action: 'project.update', projectId }) as const

/** Turns search on, and waits for nothing. */
async function searchedProject(sql: Sql): Promise<number> {
  const projectId = await seedProject(sql)
  await setSearch(sql, projectId, true, act(projectId))
  return projectId
}

async function indexAll(sql: Sql, projectId: number): Promise<void> {
  while ((await indexNews(sql, projectId, rest)) > 0);
}

const HIGH: SearchBounds = { segments: 1000, candidates: 1000, texts: 1000, bytes: 1e9 }

/** The ids of all matches, page by page; and walked up again from the last page, which must give the same. */
async function findAll(
  sql: Sql,
  projectId: number,
  text: string,
  query: Partial<TraceQuery> = {},
  bounds = HIGH
): Promise<string[]> {
  const wanted = readWanted(text)!
  const limit = query.limit ?? 3
  const page = async (at: { after?: Edge; before?: Edge }) => {
    const found = await searchTraces(sql, projectId, wanted, { sort: 'newest', ...query, limit, ...at }, bounds)
    const ids: string[] = JSON.parse(found.traces).map(({ id }: { id: string }) => id)
    assert.deepEqual(Object.keys(found.excerpts).sort(), [...ids].sort())
    return { ...found, ids }
  }
  const down = [await page({})]
  for (let next = down[0]!.next; next !== undefined; next = down.at(-1)!.next) down.push(await page({ after: next }))
  const ids = down.flatMap(({ ids }) => ids)
  const up: string[][] = [down.at(-1)!.ids]
  for (let before = down.at(-1)!.previous; before !== undefined; ) {
    const { ids, previous } = await page({ before })
    up.unshift(ids)
    before = ids.length === 0 ? undefined : previous
  }
  if (down.length > 1) assert.deepEqual(up.flat(), ids)
  return ids
}

const WORDS = ['refund', 'Order', 'größe', '東京タワー', '京都', 'ΟΔΟΣ']
const someText = fc.array(fc.constantFrom(...WORDS), { maxLength: 3 }).map(words => words.join(' '))
/** Their texts sort as the times do. */
const TIMES = ['01T00:00:00.000000Z', '01T00:00:00.000001Z', '01T00:00:00.001000Z', '02T00:00:00.000000Z'].map(
  time => `2026-01-${time}`
)
const someStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('record' as const),
      texts: fc.tuple(someText, someText, someText),
      at: fc.constantFrom(...TIMES),
      tag: fc.boolean()
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('append', 'end'), texts: fc.tuple(someText, someText), which: fc.nat() })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), which: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('index', 'fold', 'sweep') }) }
)
type Step = typeof someStep extends fc.Arbitrary<infer T> ? T : never

const QUERIES = [
  'refund',
  'ORDER',
  'grosse',
  'タワー',
  '東',
  '京都',
  'οδος',
  'refund order',
  '"order refund"',
  '東京 GRÖSSE'
]

/** What a query finds, without an index: each of its words in a text, and what is quoted side by side. */
function has(texts: readonly string[], query: string): boolean {
  const plain = (text: string) =>
    text.toLowerCase().replace('ö', 'o').replace('ß', 'ss').replace('σ', 'ς').replace('ς', 'σ')
  const parts = query.startsWith('"') ? [query.slice(1, -1)] : query.split(' ')
  return parts.every(part => texts.some(text => plain(text).includes(plain(part).replace(/σ$/, 'σ'))))
}

const MOST_SHRINKS = 50
const RUNS = { numRuns: isLong ? 500 : 4 }

interface Kept {
  readonly texts: string[]
  readonly at: string
  readonly tags: readonly string[]
  running: boolean
}

async function take(
  step: Step,
  path: WritePath,
  sql: Sql,
  projectId: number,
  stored: Map<string, Kept>
): Promise<void> {
  const key = writer({ projectId })
  const all = [...stored.keys()]
  if (step.do === 'record') {
    const [name, input, output] = step.texts
    const own = { name: name || 'run', startedAt: step.at, input: { text: input }, tags: step.tag ? ['x'] : [] }
    const isRunning = output === ''
    const body = isRunning ? startBody(own) : ingestBody({ ...own, endedAt: '2026-02-01T00:00:00Z', output })
    await path.record(key, bytes(body))
    stored.set(body.trace.id, { texts: [own.name, input, output], at: step.at, tags: own.tags, running: isRunning })
    return
  }
  if (step.do === 'index') await indexAll(sql, projectId)
  else if (step.do === 'fold') await foldTerms(sql, projectId, rest, 1)
  else if (step.do === 'sweep') await sweepSegment(sql, projectId, rest, 0)
  if (!('which' in step) || all.length === 0) return
  const id = all[step.which % all.length]!
  const trace = stored.get(id)!
  if (step.do === 'delete') {
    await deleteTrace(sql, projectId, id)
    stored.delete(id)
  } else if (trace.running && 'texts' in step) {
    const [input, output] = step.texts
    const call = span({ kind: 'llm', input: [{ role: 'user', content: input }], output })
    if (step.do === 'append') await path.append(key, id, bytes(spansBody(call)))
    else await path.end(key, id, bytes(endBody({ endedAt: '2026-02-01T00:00:00Z', spans: [call] })))
    trace.texts.push(input, output)
    trace.running = step.do === 'append'
  }
}

t.test('finds what has all words, newest first, whatever is recorded, changed, deleted and indexed', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    // Made before the first batch, since the write path asks only every few seconds which projects are searched.
    const projects: number[] = []
    while (projects.length < RUNS.numRuns + MOST_SHRINKS) projects.push(await searchedProject(sql))
    await fc.assert(
      fc.asyncProperty(fc.array(someStep, { maxLength: 40 }), fc.boolean(), async (steps, isTight) => {
        const projectId = projects.pop()!
        const stored = new Map<string, Kept>()
        for (const step of steps) await take(step, path, sql, projectId, stored)
        await indexAll(sql, projectId)
        const bounds = isTight ? { segments: 1000, candidates: 2, texts: 2, bytes: 1 } : HIGH
        const newest = [...stored].sort(([a, x], [b, y]) => (x.at < y.at || (x.at === y.at && a < b) ? 1 : -1))
        for (const query of QUERIES) {
          const expected = newest.filter(([, { texts }]) => has(texts, query))
          assert.deepEqual(
            await findAll(sql, projectId, query, {}, bounds),
            expected.map(([id]) => id),
            query
          )
          const tagged = expected.filter(([, { tags, running }]) => tags.includes('x') && !running)
          const found = await findAll(sql, projectId, query, { tag: 'x', status: 'unset' }, bounds)
          assert.deepEqual(
            found,
            tagged.map(([id]) => id),
            `${query}, filtered`
          )
        }
      }),
      RUNS
    )
  })
})

t.test('traces of before are indexed from the newest on, and turning search off drops everything', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    const ids: string[] = []
    for (const day of [1, 2, 3, 4, 5]) {
      const body = ingestBody({
        startedAt: `2026-01-0${day}T00:00:00Z`,
        endedAt: '2026-02-01T00:00:00Z',
        output: 'a refund'
      })
      await path.record(writer({ projectId }), bytes(body))
      ids.unshift(body.trace.id)
    }
    t.same(await findDue(sql), [])
    await setSearch(sql, projectId, true, act(projectId))
    t.same(await findDue(sql), [projectId])
    const fill = () => fillBack(sql, projectId, rest, { settleMs: 0, most: 2 })
    t.equal(await fill(), undefined)
    t.same(await findAll(sql, projectId, 'refund'), [])
    t.same(await findDue(sql), [], 'servers hear of it first')
    t.equal(await fill(), 2)
    t.match(await readSearchState(sql, projectId), { backTo: '2026-01-04T00:00:00.000Z', isFilled: false })
    t.same(await findAll(sql, projectId, 'refund'), ids.slice(0, 2))
    t.same([await fill(), await fill(), await fill()], [2, 1, undefined])
    t.same(await readSearchState(sql, projectId), { backTo: null, isFilled: true, waiting: 0 })
    t.same(await findAll(sql, projectId, 'refund'), ids)
    await setSearch(sql, projectId, false, act(projectId))
    for (const table of ['search_news', 'search_terms', 'search_segments', 'search_postings', 'search_fills']) {
      t.same(await sql`select from ${sql(table)} where project_id = ${projectId}`, [], table)
    }
  })
})

t.test('without search nothing is written', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    await path.record(writer({ projectId }), bytes(ingestBody({ id: traceId(), output: 'a refund' })))
    t.same(await sql`select from search_news`, [])
  })
})
