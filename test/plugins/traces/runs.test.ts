/** `runsOnly`, for each way in which a trace can be written. */
import t, { type Test } from 'tap'
import { requireProject } from '../../../lib/admin/projects.ts'
import { recountProject } from '../../../lib/admin/upkeep/recount.ts'
import { ingestBody, LATER, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { exportLines, testImporter } from '../../fixtures/database/moving.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { codex } from '../../fixtures/otlp/captured.ts'
import { reported } from '../../fixtures/otlp/reported.ts'
import { testService } from '../../fixtures/service/service.ts'

const TRACES = '/api/v1/traces'
const OTLP = '/api/v1/otlp/v1/traces'
type Listed = { readonly id: string; readonly name: string; readonly model: string | null }

async function setUp(t: Test) {
  const service = await testService(t)
  const { call } = service
  const post = async (path: string, body: object) => {
    const answer = await call('POST', path, { body })
    t.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const list = async (query = ''): Promise<Listed[]> => (await call('GET', `${TRACES}?limit=200&${query}`)).body.traces
  const names = async (query = 'runsOnly=true') => (await list(query)).map(({ name }) => name).sort()
  const isRun = async (id: string) => (await list('runsOnly=true')).some(trace => trace.id === id)
  return { service, call, post, list, names, isRun }
}

t.test('off by default; the values are true and false', async t => {
  const { call, post, names } = await setUp(t)
  await post(TRACES, ingestBody({ name: 'request' }))
  await post(TRACES, ingestBody({ name: 'run', spans: [span({ kind: 'agent' })] }))
  t.same(await names(''), ['request', 'run'])
  t.same(await names('runsOnly=false'), ['request', 'run'])
  t.same(await names('runsOnly=true'), ['run'])
  for (const wrong of ['1', 'TRUE', 'yes', '']) {
    const { status, body } = await call('GET', `${TRACES}?runsOnly=${wrong}`)
    t.equal(status, 400, wrong)
    t.match(body.error, { code: 'invalid_request', message: /^runsOnly: / })
  }
  t.match(await call('GET', `${TRACES}?runsOnly=true&runsOnly=true`), { status: 400 })
})

t.test("a trace recorded whole is a run by its spans' kinds, its model or its cost", async t => {
  const { post, names } = await setUp(t)
  for (const kind of ['llm', 'embedding', 'reranker', 'agent', 'tool', 'retriever', 'chain', 'custom']) {
    await post(TRACES, ingestBody({ name: kind, spans: [span(), span({ kind })] }))
  }
  await post(TRACES, ingestBody({ name: 'nothing' }))
  await post(TRACES, ingestBody({ name: 'model', model: 'm' }))
  await post(TRACES, ingestBody({ name: 'cost', costUsd: 0 }))
  await post(TRACES, ingestBody({ name: 'only tokens', usage: { inputTokens: 5 } }))
  t.same(await names(), ['agent', 'cost', 'embedding', 'llm', 'model', 'reranker', 'retriever', 'tool'])
})

t.test('a running trace becomes a run with the first such span, and remains one', async t => {
  const { call, post, isRun } = await setUp(t)
  const start = async (over: object = {}) => (await post(TRACES, startBody(over))).traceId as string
  const [appended, ended, named, never] = [await start(), await start(), await start(), await start()]
  for (const id of [appended, ended, named, never]) {
    await post(`${TRACES}/${id}/spans`, spansBody(span(), span({ kind: 'chain' })))
    await call('PATCH', `${TRACES}/${id}`, { body: { metadata: { more: 1 } } })
    t.notOk(await isRun(id))
  }
  await post(`${TRACES}/${appended}/spans`, spansBody(span(), span({ kind: 'tool' })))
  t.ok(await isRun(appended))
  await post(`${TRACES}/${appended}/spans`, spansBody(span()))
  t.ok(await isRun(appended))
  const end = { schemaVersion: 1, endedAt: LATER }
  await post(`${TRACES}/${appended}/end`, end)
  await post(`${TRACES}/${ended}/end`, { ...end, spans: [span({ kind: 'llm' })] })
  await post(`${TRACES}/${named}/end`, { ...end, model: 'm' })
  await post(`${TRACES}/${never}/end`, end)
  t.same(await Promise.all([appended, ended, named, never].map(isRun)), [true, true, true, false])
  await call('PATCH', `${TRACES}/${appended}`, { body: { metadata: { more: 2 } } })
  t.ok(await isRun(appended))
})

const LLM = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 5 }

t.test('OpenTelemetry: the flag is set when the first such span arrives, in any order', async t => {
  const { post, isRun } = await setUp(t)
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 0, 2]
  ]) {
    const traceId = freshId(32)
    const parentSpanId = freshId(16)
    const spans = [
      otlpSpan({ traceId, spanId: parentSpanId, name: 'POST /chat' }),
      otlpSpan({ traceId, parentSpanId, name: 'sql.execute' }),
      otlpSpan({ traceId, parentSpanId, name: 'chat', attributes: LLM })
    ]
    let has = false
    for (const at of order) {
      await post(OTLP, exportOf(spans[at]!))
      has ||= at === 2
      t.equal(await isRun(traceId), has, `${order} ${at}`)
    }
    await post(OTLP, exportOf(...spans))
    t.ok(await isRun(traceId))
  }
})

t.test('log records produce steps, which make a run', async t => {
  const { post, list } = await setUp(t)
  const { traceId, exports } = codex()
  await post('/api/v1/otlp/v1/logs', exports.first)
  await post('/api/v1/otlp/v1/logs', exports.second)
  t.same(
    (await list('runsOnly=true')).map(({ id }) => id),
    [traceId]
  )
  await post(OTLP, exports.spans)
  t.same(
    (await list('runsOnly=true')).map(({ id }) => id),
    [traceId],
    'spans replace the steps'
  )
})

t.test('an OpenCode run: 89 traces, of which the list shows the session', async t => {
  const parts = [1, 2, 3].map(part => reported(`real-opencode-1.18.33-traces-${part}of3`))
  for (const exports of [parts, parts.toReversed()]) {
    const { post, list } = await setUp(t)
    for (const each of exports) await post(OTLP, each)
    const all = await list()
    t.equal(all.length, 89)
    const runs = await list('runsOnly=true')
    t.same(
      runs.map(({ name }) => name),
      ['opencode']
    )
    t.same(await list('runsOnly=true&sort=slowest'), [], 'it has not ended')
    t.same(await list('runsOnly=true&status=running'), runs)
    t.same(await list(`runsOnly=true&model=${runs[0]!.model}`), runs)
    t.same(await list('runsOnly=true&name=sql.execute'), [])
  }
})

t.test('an import yields the same runs as the writes, and a recount repairs a wrong flag', async t => {
  const { service, call, post, list, isRun } = await setUp(t)
  const { database, makeProject } = service
  const { pool } = database
  await post(TRACES, ingestBody({ name: 'request', spans: [span()] }))
  await post(TRACES, ingestBody({ name: 'run', spans: [span({ kind: 'retriever' })] }))
  const growing = freshId(32)
  await post(OTLP, exportOf(otlpSpan({ traceId: growing, name: 'grows' })))
  await makeProject('copy')
  const copy = await pool.run(sql => requireProject(sql, 'copy'))
  const importer = testImporter(t, database)
  const move = async () => {
    const result = await importer(copy, `${(await exportLines(database, 'default')).join('\n')}\n`)
    t.same(result.problems, [])
    return pool.run(sql => sql`select name from traces where project_id = ${copy} and is_run order by name`)
  }
  t.same(await move(), [{ name: 'run' }])
  await post(OTLP, exportOf(otlpSpan({ traceId: growing, parentSpanId: freshId(16), attributes: LLM })))
  t.same(await move(), [{ name: 'grows' }, { name: 'run' }], 'a line with a later state sets it')

  const recount = (apply: boolean) => pool.run(sql => recountProject(sql, 'default', apply))
  t.match(await recount(false), { agree: true })
  await pool.run(sql => sql`update traces set is_run = not is_run where project_id <> ${copy}`)
  t.notOk(await isRun(growing))
  t.match(await recount(false), { wrongTraces: { count: 3 }, agree: false, applied: false })
  t.match(await recount(true), { wrongTraces: { count: 3 }, applied: true })
  t.match(await recount(false), { wrongTraces: { count: 0 }, agree: true })
  t.same((await list('runsOnly=true')).map(({ name }) => name).sort(), ['grows', 'run'])
  t.match(await call('GET', `${TRACES}/${growing}`), { status: 200 })
})
