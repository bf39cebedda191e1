/** Recomputed costs equal the costs that the same spans would get if they arrived now. */
import fc from 'fast-check'
import t from 'tap'
import { removePrices, setPrice } from '../../../../lib/admin/prices.ts'
import { requireProject } from '../../../../lib/admin/projects.ts'
import { recomputeCosts } from '../../../../lib/admin/upkeep/recompute.ts'
import { recountProject } from '../../../../lib/admin/upkeep/recount.ts'
import { writeRepricings } from '../../../../lib/store/trace/repricing.ts'
import { exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import { exportLines, projectRows, testImporter } from '../../../fixtures/database/moving.ts'
import { freshId } from '../../../fixtures/database/seed.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { until } from '../../../fixtures/until.ts'

const PATH = '/api/v1/otlp/v1/traces'
const MODELS = ['mine', 'mine', 'gpt-4o', 'other', undefined]

/** The spans of a trace: calls below steps. Some spans state a cost. */
const trace = fc
  .record({
    isComplete: fc.boolean(),
    tags: fc.subarray(['a', 'b']),
    steps: fc.array(
      fc.record({
        kind: fc.constantFrom('chat', 'chat', 'embeddings', 'invoke_agent', 'execute_tool'),
        parent: fc.nat(),
        model: fc.constantFrom(...MODELS),
        tokens: fc.constantFrom(undefined, 1000, 2000),
        cost: fc.constantFrom(undefined, undefined, undefined, 0, 0.5)
      }),
      { minLength: 1, maxLength: 6 }
    )
  })
  .map(({ isComplete, tags, steps }) => {
    const traceId = freshId(32)
    const attributes = { 'session.id': 's', 'user.id': 'u', 'langfuse.trace.tags': tags }
    const root = otlpSpan({ traceId, name: 'root', start: 0, end: 50, attributes })
    const spans: ReturnType<typeof otlpSpan>[] = [root]
    for (const [i, { kind, parent, model, tokens, cost }] of steps.entries()) {
      const above = spans[parent % spans.length] as ReturnType<typeof otlpSpan>
      const said = {
        ...{ 'gen_ai.operation.name': kind, 'gen_ai.response.model': model, 'gen_ai.usage.cost': cost },
        ...{ 'gen_ai.usage.input_tokens': tokens, 'gen_ai.provider.name': model === 'gpt-4o' ? 'openai' : 'me' }
      }
      const known = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
      spans.push(otlpSpan({ traceId, parentSpanId: above.spanId, start: i, end: i + 1, attributes: known }))
    }
    return isComplete ? spans : spans.slice(1)
  })

t.test('recomputed costs equal those of the same spans if they arrived now, and nothing else changes', async t => {
  const service = await testService(t)
  const { database } = service
  const { pool } = database
  await service.makeProject('copy')
  const { key: copyKey } = await service.makeKey({ project: 'copy' })
  const send = async (spans: readonly object[], key = service.key) =>
    (await service.call('POST', PATH, { key, body: exportOf(...spans) })).text
  const traces = fc.sample(trace, 40)
  for (const spans of traces) t.equal(await send(spans), '{}')
  const [first] = traces as [(typeof traces)[number]]
  const before = await projectRows(database, 1)
  const exported = await exportLines(database, 'default')

  await pool.run(sql => setPrice(sql, { model: 'mine', input: 3, output: 0 }))
  await pool.run(sql => setPrice(sql, { model: 'gpt-4o', input: 100, output: 0, project: 'default' }))
  await pool.run(sql => setPrice(sql, { model: 'gpt-4o', input: 100, output: 0, project: 'copy' }))
  const request = { project: 'default', apply: false }
  const planned = await pool.run(sql => recomputeCosts(sql, request))
  t.match(planned, { checked: 40 })
  t.ok(planned.traces > 0 && planned.spans >= planned.traces && planned.after > planned.before)
  t.same(await projectRows(database, 1), before, 'a dry run writes nothing')

  t.same(await pool.run(sql => recomputeCosts(sql, { ...request, apply: true })), planned)
  t.match(await pool.run(sql => recomputeCosts(sql, { ...request, apply: true })), { traces: 0, spans: 0 }, 'once')
  const after = await projectRows(database, 1)
  const withoutCosts = (rows: typeof after) =>
    rows.map(each =>
      each.map(({ cost_usd: _, ranked: __, call_details: ___, ...others }: Record<string, unknown>) => others)
    )
  t.same(withoutCosts(after), withoutCosts(before))
  t.match(await pool.run(sql => recountProject(sql, 'default', false)), { agree: true })

  // The server has read the prices once it computes this cost.
  await until(async () => {
    const call = { 'gen_ai.operation.name': 'chat', 'gen_ai.response.model': 'mine', 'gen_ai.usage.input_tokens': 1 }
    const probe = otlpSpan({ attributes: call })
    await send([probe], copyKey)
    const { costUsd } = (await service.call('GET', `/api/v1/traces/${probe.traceId}`, { key: copyKey })).body.trace
    await service.call('DELETE', `/api/v1/traces/${probe.traceId}`, { key: copyKey })
    return costUsd !== null
  })
  for (const spans of traces) t.equal(await send(spans, copyKey), '{}')
  const copy = await pool.run(sql => requireProject(sql, 'copy'))
  const costs = async (project: number) => {
    const [traces = [], spans = []] = await projectRows(database, project)
    const costOf = ({ id, cost_usd, call_details }: Record<string, unknown>) => [id, cost_usd, call_details]
    return [traces.map(costOf), spans.map(costOf)]
  }
  t.same(await costs(1), await costs(copy))
  const lists = ['?sort=costliest', '?sort=costliest&tag=a', '?userId=u']
  for (const list of lists) {
    const idsOf = async (key: string) =>
      (await service.call('GET', `/api/v1/traces${list}`, { key })).body.traces.map(
        ({ id, costUsd }: { id: string; costUsd: number }) => [id, costUsd]
      )
    t.same(await idsOf(service.key), await idsOf(copyKey), list)
  }

  t.equal(await send(first), '{}', 'a resend is a duplicate')
  t.match(await testImporter(t, database)(1, exported.join('\n')), { skipped: 40, problems: [] }, 'an older export')
  t.same(await costs(1), await costs(copy))
  const late = otlpSpan({ traceId: first[0]!.traceId, parentSpanId: 'f'.repeat(16), start: 60 })
  t.equal(await send([late]), '{}', 'a trace continues')
  t.match(await pool.run(sql => recountProject(sql, 'default', false)), { agree: true })

  await pool.run(sql => removePrices(sql, { model: 'mine' }))
  await pool.run(sql => removePrices(sql, { model: 'gpt-4o', project: 'default' }))
  await pool.run(sql => recomputeCosts(sql, { ...request, apply: true }))
  const back = await projectRows(database, 1)
  const costOf = ({ id, cost_usd }: Record<string, unknown>) => [id, cost_usd]
  t.same(back[0]!.map(costOf), before[0]!.map(costOf), 'and back')
  t.match(await pool.run(sql => recountProject(sql, 'default', false)), { agree: true })
})

t.test('only traces that started in the given period are affected, and concurrent changes are detected', async t => {
  const service = await testService(t)
  const { pool } = service.database
  const call = { 'gen_ai.operation.name': 'chat', 'gen_ai.response.model': 'mine', 'gen_ai.usage.input_tokens': 1e6 }
  const spans = [0, 10, 20].map(start => otlpSpan({ start, attributes: call }))
  await service.call('POST', PATH, { body: exportOf(...spans) })
  await pool.run(sql => setPrice(sql, { model: 'mine', input: 3, output: 0 }))
  const [from, to] = ['2026-11-21T00:00:05.000Z', '2026-11-21T00:00:15.000Z']
  const request = { project: 'default', from, to, apply: true }
  t.match(await pool.run(sql => recomputeCosts(sql, request)), { checked: 1, traces: 1, spans: 1, before: 0, after: 3 })
  const costs = await pool.run(sql => sql`select cost_usd as cost from traces order by started_at`)
  t.same(
    costs.map(({ cost }) => cost),
    [null, 3, null]
  )
  const [{ seq, version }] = await pool.run(
    sql => sql<[{ seq: number; version: number }]>`select seq, version from traces order by started_at limit 1`
  )
  const repricing = { seq, costUsd: 9, spans: [{ id: spans[0]!.spanId, costUsd: 9, callDetails: null }] }
  const write = (version: number) => pool.run(sql => writeRepricings(sql, 1, [{ ...repricing, version }]))
  const before = await projectRows(service.database, 1)
  t.same(await write(version + 1), [], 'the trace has changed since its state was read')
  t.same(await projectRows(service.database, 1), before)
  t.match(await write(version), [{ seq }])
  t.same(await write(version), [], 'its version is different now')
  const [{ detail }] = await pool.run(
    sql => sql<[{ detail: string }]>`select detail::text from audit where action = 'price.recompute'`
  )
  t.same(JSON.parse(detail).traces, 1)
})
