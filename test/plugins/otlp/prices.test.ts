/** Calls without a cost get a cost from prices, both when they arrive and when they are imported. */
import t from 'tap'
import { removePrices, setPrice } from '../../../lib/admin/prices.ts'
import { requireProject } from '../../../lib/admin/projects.ts'
import { readUnpriced } from '../../../lib/store/projects/prices.ts'
import { ingestBody, span as nativeSpan } from '../../fixtures/bodies/bodies.ts'
import { exportOf, type GivenSpan, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { exportLines, projectRows, testImporter } from '../../fixtures/database/moving.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const PATH = '/api/v1/otlp/v1/traces'

const callOf = (model: string, over: object = {}, given: GivenSpan = {}) =>
  otlpSpan({
    attributes: {
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.response.model': model },
      ...{ 'gen_ai.usage.input_tokens': 1_000_000, 'gen_ai.usage.output_tokens': 100_000, ...over }
    },
    ...given
  })
const send = async (service: TestService, ...spans: object[]) =>
  (await service.call('POST', PATH, { body: exportOf(...spans) })).text
const costOf = async ({ call }: TestService, id: string) =>
  (await call('GET', `/api/v1/traces/${id}`)).body.trace.costUsd

t.test('a call gets the cost of its tokens, however large, and its resend is a duplicate', async t => {
  const service = await testService(t)
  for (const length of [10, 20_000]) {
    const traceId = freshId(32)
    const long = { 'gen_ai.input.messages': 'x'.repeat(length) }
    const call = callOf('gpt-4o', long, { traceId })
    const stated = callOf('gpt-4o', { ...long, 'gen_ai.usage.cost': 0.25 }, { traceId })
    t.equal(await send(service, call, stated), '{}')
    const { body } = await service.call('GET', `/api/v1/traces/${traceId}`)
    t.match(body, { trace: { costUsd: 3.75 }, spans: [{ costUsd: 3.5 }, { costUsd: 0.25 }] })
    t.equal(await send(service, call, stated), '{}')
    t.same((await service.call('GET', `/api/v1/traces/${traceId}`)).body, body)
  }
})

t.test('a new price applies at once, and a resend remains a duplicate', async t => {
  const service = await testService(t)
  const { pool } = service.database
  const before = freshId(32)
  const early = callOf('gpt-4o', {}, { traceId: before })
  t.equal(await send(service, early), '{}')
  await pool.run(sql => setPrice(sql, { model: 'gpt-4o', input: 10, output: 0 }))
  await pool.run(sql => setPrice(sql, { project: 'default', model: 'gpt-4o', input: 7, output: 0 }))
  await until(async () => {
    const traceId = freshId(32)
    await send(service, callOf('gpt-4o', {}, { traceId }))
    return (await costOf(service, traceId)) === 7
  })
  t.equal(await send(service, early), '{}', 'nothing was rejected')
  t.equal(await costOf(service, before), 3.5)
  await pool.run(sql => removePrices(sql, { project: 'default', model: 'gpt-4o' }))
  await until(async () => {
    const traceId = freshId(32)
    await send(service, callOf('gpt-4o', {}, { traceId }))
    return (await costOf(service, traceId)) === 10
  })
})

t.test('a trace with computed costs is unchanged after an import, and its spans are still recognised', async t => {
  const service = await testService(t)
  const { database } = service
  await service.makeProject('copy')
  const { key } = await service.makeKey({ project: 'copy' })
  const copy = await database.pool.run(sql => requireProject(sql, 'copy'))
  const traceId = freshId(32)
  const spans = [callOf('gpt-4o', {}, { traceId }), callOf('gpt-4o', { 'gen_ai.usage.cost': 1 }, { traceId })]
  t.equal(await send(service, ...spans), '{}')
  const lines = await exportLines(database, 'default')
  t.match(lines[0], '"computedCost":{"model":"openai/gpt-4o","prices":"2026-09-23"}')
  const importTo = testImporter(t, database)
  t.match(await importTo(copy, lines.join('\n')), { imported: 1, problems: [] })
  t.match(await importTo(copy, lines.join('\n')), { skipped: 1, problems: [] })
  t.same(await exportLines(database, 'copy'), lines)
  const wanted = await projectRows(database, 1)
  t.same(await projectRows(database, copy), wanted)
  t.equal(
    (await service.call('POST', PATH, { key, body: exportOf(...spans) })).text,
    '{}',
    'no span has different content'
  )
  t.same(await exportLines(database, 'copy'), lines)
  const other = lines.map(line =>
    line.replaceAll('"costUsd":4.5', '"costUsd":5').replaceAll('"costUsd":3.5', '"costUsd":4')
  )
  t.match(await importTo(copy, other.join('\n')), { skipped: 1, problems: [] }, 'even with other prices')
})

t.test('calls without a price are counted by model', async t => {
  const service = await testService(t)
  const spans = [
    callOf('mine'),
    callOf('mine'),
    callOf('other'),
    callOf('gpt-4o'),
    callOf('free', { 'gen_ai.usage.cost': 0 })
  ]
  t.equal(await send(service, ...spans), '{}')
  const { text } = await service.call('GET', '/metrics')
  t.match(text, /^spoor_unpriced_calls_total 3$/m)
  await service.close()
  const { pool } = service.database
  t.match(await pool.run(sql => readUnpriced(sql)), [
    { projectId: 1, model: 'mine', calls: 2 },
    { projectId: 1, model: 'other', calls: 1 }
  ])
  await pool.run(sql => setPrice(sql, { model: 'mine', input: 0, output: 0 }))
  t.match(await pool.run(sql => readUnpriced(sql)), [{ model: 'other' }])
})

t.test('no cost is computed with PRICES=off, or for a trace recorded through the API', async t => {
  const off = await testService(t, { config: { computesCosts: false } })
  const traceId = freshId(32)
  t.equal(await send(off, callOf('gpt-4o', {}, { traceId })), '{}')
  t.equal(await costOf(off, traceId), null)
  const on = await testService(t)
  const usage = { inputTokens: 1000, outputTokens: 10 }
  const body = ingestBody({ spans: [nativeSpan({ kind: 'llm', provider: 'openai', model: 'gpt-4o', usage })] })
  t.equal((await on.call('POST', '/api/v1/traces', { body })).status, 201)
  const { trace, spans } = (await on.call('GET', `/api/v1/traces/${body.trace.id}`)).body
  t.same([trace.costUsd, spans[0].costUsd], [null, null])
})
