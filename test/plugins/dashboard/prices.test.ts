/** Tests prices of models: everybody in the project can see them, and its owners can set them. */
import t from 'tap'
import { setPrice } from '../../../lib/admin/prices.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const P = 'p/default'
const PRICE = { model: 'mine', input: 2.5, output: 10 }
const invalid = (message: RegExp) => ({ status: 400, body: { error: { code: 'invalid_request', message } } })

const service = await testService(t)
const viewer = await signedIn(service, 'viewer@example.com', 'viewer')
const owner = await signedIn(service, 'owner@example.com', 'owner')
const call = (model: string, traceId = freshId(32)) =>
  otlpSpan({
    traceId,
    attributes: {
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.response.model': model, 'gen_ai.usage.input_tokens': 1_000_000 },
      'gen_ai.provider.name': 'openai'
    }
  })
const send = (...spans: object[]) => service.call('POST', '/api/v1/otlp/v1/traces', { body: exportOf(...spans) })

t.test("owners set and remove the project's prices, next to those for all projects", async t => {
  await service.database.pool.run(sql => setPrice(sql, { model: 'all', input: 1, output: 1 }))
  t.match(await viewer.ask('POST', `${P}/prices`, { body: PRICE }), { status: 403 })
  const set = await owner.ask('POST', `${P}/prices`, {
    body: { ...PRICE, cacheRead: 0, from: '2026-07-01T02:00:00+02:00' }
  })
  const price = { ...PRICE, cacheRead: 0, cacheWrite: null, from: '2026-07-01T00:00:00.000Z', ofProject: true }
  t.match(set, { status: 201, body: { price } })
  const { prices } = (await viewer.ask('GET', `${P}/prices`)).body
  t.match(prices, [{ model: 'all', ofProject: false }, price])
  await service.makeProject('second')
  t.match((await owner.ask('GET', 'p/second/prices')).body.prices, [{ model: 'all' }])

  const at = (id: number) => `${P}/prices/${id}`
  t.match(
    await owner.ask('DELETE', at(prices[0].id)),
    { status: 404 },
    'a project cannot change the prices for all projects'
  )
  t.match(await viewer.ask('DELETE', at(prices[1].id)), { status: 403 })
  t.match(await owner.ask('DELETE', at(prices[1].id)), { status: 200 })
  t.match(await owner.ask('DELETE', at(prices[1].id)), { status: 404 })
  const acts = await service.database.pool.run(
    sql => sql`
      select action, project_id as project, user_id is not null as "isPerson"
      from audit where action like 'price.%' order by id`
  )
  t.match(acts, [
    { action: 'price.set', project: null, isPerson: false },
    { action: 'price.set', project: 1, isPerson: true },
    { action: 'price.remove', project: 1, isPerson: true }
  ])
})

t.test('an invalid price is rejected', async t => {
  const cases: [object, RegExp][] = [
    [{ model: ' ' }, /^model: must not be empty/],
    [{ model: 'a\nb' }, /^model: must not contain control characters/],
    [{ input: -1 }, /input/],
    [{ output: 1e9 }, /output/],
    [{ input: undefined }, /input/],
    [{ from: 'soon' }, /^from: must be an ISO 8601 date and time/]
  ]
  for (const [change, message] of cases)
    t.match(await owner.ask('POST', `${P}/prices`, { body: { ...PRICE, ...change } }), invalid(message))
})

t.test('models without a price are listed, and the trace shows the source of a cost', async t => {
  const traceId = freshId(32)
  await send(call('gpt-4o', traceId), call('gpt-none', traceId))
  const { spans } = (await viewer.ask('GET', `${P}/traces/${traceId}/outline`)).body
  t.same(
    spans.map(({ model, costUsd, computedCost }: Record<string, unknown>) => [model, costUsd, computedCost]).sort(),
    [
      ['gpt-4o', 2.5, { model: 'openai/gpt-4o', prices: '2026-09-23' }],
      ['gpt-none', null, null]
    ]
  )
  await until(async () => (await viewer.ask('GET', `${P}/prices`)).body.unpriced.length > 0)
  t.match((await viewer.ask('GET', `${P}/prices`)).body.unpriced, [{ model: 'gpt-none', calls: 1 }])
})
