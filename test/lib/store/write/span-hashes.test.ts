import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { hashStoredSpans } from '../../../../lib/store/write/span-hashes.ts'
import { prepare } from '../../../../lib/trace/prepare.ts'
import { shortHash } from '../../../../lib/trace/prepared.ts'
import { spans, start } from '../../../fixtures/bodies/arbitrary-bodies.ts'
import { ingestBody, LATER, span, spansBody, startBody, traceId } from '../../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import { exportLines, testImporter } from '../../../fixtures/database/moving.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { runs } from '../../../torture/orders.ts'

const TRACES = '/api/v1/traces'

/** Returns the hashes with which an append would store the spans. */
function hashesOf(spans: readonly object[]): Map<string, string> {
  if (spans.length === 0) return new Map()
  const { spans: prepared } = prepare('append', Buffer.from(JSON.stringify(spansBody(...spans))))
  return new Map(prepared.map(each => [each.id, shortHash(each)]))
}

/** Spellings that a stored text keeps and a hash ignores, and texts that PostgreSQL stores in other ways. */
const ODD = [
  span({
    input: { b: 1, a: [1.5, -0, 1e21, 'é😀\\u0041"'] },
    attributes: { '10': 1, '9': 2 },
    usage: { totalTokens: 9 }
  }),
  span({ output: 'x'.repeat(60_000), events: [{ name: 'né', timestamp: '2026-01-01T01:00:00.1234567+01:00' }] }),
  span({ input: null, attributes: {}, events: [], usage: {}, costUsd: 0, kind: 'tool', status: 'error', model: 'm' })
]

t.test('spans that are stored without a hash have the hash that an append would store', async t => {
  const { database, call, makeProject, makeKey } = await testService(t)
  const projects = await Promise.all(
    ['one', 'two'].map(async slug => ({
      projectId: Number(await makeProject(slug)),
      key: (await makeKey({ project: slug })).key
    }))
  )
  await fc.assert(
    fc.asyncProperty(fc.tuple(start, spans), fc.tuple(start, spans), async (one, two) => {
      // Both projects have a trace with this id.
      const id = traceId()
      const traces = [one, two].map(([over, plain], i) => {
        const { projectId, key } = projects[i]!
        const spans = [...(i === 0 ? ODD : []), ...plain]
        return { key, look: { projectId, traceId: id }, spans, trace: { ...over, id, endedAt: LATER, spans } }
      })
      for (const { key, trace } of traces) {
        assert.equal((await call('POST', TRACES, { key, body: { schemaVersion: 1, trace } })).status, 201)
      }
      const gone = { projectId: projects[0]!.projectId, traceId: traceId() }
      const found = await database.pool.run(sql => hashStoredSpans(sql, [gone, ...traces.map(({ look }) => look)]))
      assert.equal(found.get(gone), undefined)
      for (const { look, spans } of traces) assert.deepEqual(found.get(look), hashesOf(spans))
    }),
    runs(20)
  )
})

t.test('a trace to which an import added more texts than a request has is compared as well', async t => {
  const { database, call } = await testService(t)
  const [project] = await database.pool.run(
    sql => sql<{ id: number }[]>`select id from projects where slug = 'default'`
  )
  const importInto = testImporter(t, database)
  const body = ingestBody({ spans: [span({ input: 'in' })] })
  await call('POST', TRACES, { body })
  const [recorded = ''] = await exportLines(database, 'default')
  const added = Array.from({ length: 13 }, () => span({ output: 'x'.repeat(700_000) }))
  const longer = recorded.replace('"spans":[', `"spans":[${added.map(each => `${JSON.stringify(each)},`).join('')}`)
  t.match(await importInto(project!.id, longer), { advanced: 1, problems: [] })
  const look = { projectId: project!.id, traceId: body.trace.id }
  const found = await database.pool.run(sql => hashStoredSpans(sql, [look]))
  t.strictSame(
    [...found.get(look)!].sort(),
    [...added, ...body.trace.spans].flatMap(each => [...hashesOf([each])]).sort()
  )
  t.match(await importInto(project!.id, longer), { skipped: 1, problems: [] })
  t.match(await importInto(project!.id, longer.replace('"input":"in"', '"input":"edited"')), {
    problems: [/^line 1: span [0-9a-f]{16} is stored with different content$/]
  })
})

t.test('many large traces are hashed', async t => {
  const { database, call, makeProject, makeKey } = await testService(t)
  const projectId = Number(await makeProject('large'))
  const { key } = await makeKey({ project: 'large' })
  const traces = Array.from({ length: 8 }, () => ({ projectId, traceId: traceId() }))
  const large = span({ input: 'y'.repeat(700_000) })
  for (const { traceId: id } of traces) {
    await call('POST', TRACES, { key, body: ingestBody({ id, spans: [large, span()] }) })
  }
  const found = await database.pool.run(sql => hashStoredSpans(sql, traces))
  t.equal(found.size, traces.length)
  for (const trace of traces) t.equal(found.get(trace)?.get(large.id), hashesOf([large]).get(large.id))
})

t.test('only spans of a trace that is recorded whole have no hash, and an import notices edits of them', async t => {
  const { database, call, makeProject } = await testService(t)
  const [whole, patched, streamed, running, gathered] = [traceId(), traceId(), traceId(), traceId(), traceId()]
  const post = (path: string, body: object) => call('POST', `${TRACES}${path}`, { body })
  await post('', ingestBody({ id: whole, spans: [span({ input: 'in', usage: { outputTokens: 1 } })] }))
  await post('', ingestBody({ id: patched, spans: [span({ input: 'in' })] }))
  await call('PATCH', `${TRACES}/${patched}`, { body: { metadata: { reviewed: true } } })
  await post('', startBody({ id: streamed, spans: [span()] }))
  await post(`/${streamed}/spans`, spansBody(span()))
  await post(`/${streamed}/end`, { schemaVersion: 1, endedAt: LATER, spans: [span()] })
  await post('', startBody({ id: running, spans: [span()] }))
  await call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(otlpSpan({ traceId: gathered })) })
  const unhashed = await database.pool.run(
    sql => sql<{ id: string }[]>`
      select distinct replace(t.id::text, '-', '') as id from spans s
      join traces t on t.project_id = s.project_id and t.seq = s.trace_seq where s.hash is null`
  )
  t.strictSame(unhashed.map(({ id }) => id).sort(), [whole, patched].sort())

  const importInto = testImporter(t, database)
  const [project] = await database.pool.run(
    sql => sql<{ id: number }[]>`select id from projects where slug = 'default'`
  )
  const lines = await exportLines(database, 'default')
  const edited = lines.map(line => line.replace('"input":"in"', '"input":"edited"'))
  const problem = /^line \d: span [0-9a-f]{16} is stored with different content$/
  t.match(await importInto(project!.id, lines.join('\n')), { skipped: 5, problems: [] })
  t.match(await importInto(project!.id, edited.join('\n')), { skipped: 3, problems: [problem, problem] })

  // The edited lines state the hashes of the recorded bodies, so only their spans tell that the traces differ.
  const copy = Number(await makeProject('copy'))
  t.match(await importInto(copy, edited.join('\n')), { imported: 5 })
  t.match(await importInto(copy, edited.join('\n')), { skipped: 5, problems: [] })
  t.match(await importInto(copy, lines.join('\n')), { skipped: 3, problems: [problem, problem] })
})
