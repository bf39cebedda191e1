import t from 'tap'
import { checker } from '../../../lib/schema/check.ts'
import { ExportLine } from '../../../lib/schema/export-line.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { exportLines } from '../../fixtures/database/moving.ts'
import { type SeedTrace, seedProject, seedScores, seedSpans, seedTraces } from '../../fixtures/database/seed.ts'

const id = (n: number) => n.toString(16).padStart(32, '0')
const second = (n: number) =>
  `2026-01-01T00:${String(Math.floor(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}.000Z`

t.test('exports every trace once, by start and id, with its own spans and scores, whatever the page size', async t => {
  const database = await testDatabase(t)
  const [projectId, slug] = await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    const other = await seedProject(sql)
    // There are two traces per second. Some traces are so large that a page contains only a few.
    const traces = Array.from({ length: 600 }, (_, n): SeedTrace => {
      return {
        seq: n + 1,
        id: id(n),
        startedAt: second(599 - Math.floor(n / 2)),
        estimatedBytes: n % 50 === 0 ? 5e6 : 10
      }
    })
    await seedTraces(sql, projectId, traces)
    await seedTraces(sql, other, [{ seq: 1000, id: id(1) }])
    for (const seq of [1, 300, 600]) await seedSpans(sql, projectId, seq, ['00000000000000bb', '00000000000000aa'])
    await seedScores(sql, projectId, [
      { traceSeq: 300, name: 'older' },
      { traceSeq: 300, name: 'newer' }
    ])
    const [row] = await sql<{ slug: string }[]>`select slug from projects where id = ${projectId}`
    return [projectId, row!.slug]
  })
  const lines = (await exportLines(database, slug)).map(line => JSON.parse(line))
  const found = lines.map(({ trace }) => [trace.startedAt, trace.id])
  t.same(
    found,
    [...found].sort((a, b) => (a.join() < b.join() ? -1 : 1)),
    'in order'
  )
  t.equal(new Set(found.map(([, id]) => id)).size, 600)
  t.equal(projectId > 0 && lines.every(line => checker(ExportLine).check(line)), true, 'according to the schema')
  const having = (part: 'spans' | 'scores') => lines.filter(line => line[part].length > 0).reverse()
  t.same(
    having('spans').map(({ trace, spans }) => [trace.id, ...spans.map((span: { id: string }) => span.id)]),
    [0, 299, 599].map(n => [id(n), '00000000000000aa', '00000000000000bb'])
  )
  t.same(
    having('scores').map(({ trace, scores }) => [trace.id, ...scores.map((score: { name: string }) => score.name)]),
    [[id(299), 'newer', 'older']]
  )
  const window = { from: second(300), to: second(310) }
  const within = (await exportLines(database, slug, window)).map(line => JSON.parse(line).trace.startedAt)
  t.same(
    within,
    Array.from({ length: 11 }, (_, n) => [second(300 + n), second(300 + n)]).flat(),
    'the bounds are inclusive'
  )
  t.same(await exportLines(database, slug, { from: second(600) }), [])
  await t.rejects(exportLines(database, 'nowhere'), /no project "nowhere"/)
})

t.test('distinguishes an unassigned trace from one whose environment was never recorded', async t => {
  const database = await testDatabase(t)
  await database.pool.run(async sql => {
    const environments = ['production', 'unassigned', null]
    await seedTraces(
      sql,
      await seedProject(sql),
      environments.map((environment, n) => ({ id: id(n), environment }))
    )
    await sql`update projects set slug = 'default'`
  })
  const traces = (await exportLines(database, 'default')).map(line => JSON.parse(line).trace)
  t.same(
    traces.map(({ environment }) => environment),
    ['production', null, undefined]
  )
  t.equal(Object.hasOwn(traces[2], 'environment'), false)
})
