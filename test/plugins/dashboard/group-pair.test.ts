/** Compares two groups of traces with numbers that this file computes from the traces one by one. */
import t from 'tap'
import { createAccount } from '../../../lib/admin/accounts.ts'
import { periodBetween } from '../../../lib/rollups/period.ts'
import { readGroupPair } from '../../../lib/store/analytics/usage/group-pair.ts'
import { ingestBody, span } from '../../fixtures/bodies/bodies.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'

const service = await testService(t)
const { call, makeKey, database } = service
const { ask } = await signedIn(service, 'viewer@example.com', 'viewer')
const P = 'p/default'
const DAY = 'from=2026-11-02T00:00:00Z&to=2026-11-03T00:00:00Z'
const START = Date.UTC(2026, 10, 2)
const pick = <T>(values: readonly T[], n: number): T => values[n % values.length] as T

const given = Array.from({ length: 20 }, (_, i) => ({
  tag: pick(['prompt:v1', 'prompt:v2'], i),
  model: pick(['m1', 'm2', 'm2'], i),
  user: pick(['ada', 'bob'], Math.floor(i / 2)),
  status: pick(['ok', 'ok', 'ok', 'error'], i),
  ms: 100 * (i + 1),
  costUsd: pick([0.5, undefined], Math.floor(i / 3)),
  score: i / 10
}))

t.before(async () => {
  const { key } = await makeKey({ environment: 'staging' })
  for (const [i, { tag, user, ms, costUsd, score, ...trace }] of given.entries()) {
    const startedAt = new Date(START + i * 3_600_000).toISOString()
    const endedAt = new Date(Date.parse(startedAt) + ms).toISOString()
    const failed = span({ name: 'pay', kind: 'tool', status: 'error', output: 'No stock', startedAt, endedAt })
    const body = ingestBody({
      ...{ ...trace, startedAt, endedAt, tags: [tag], userId: user, input: `question ${i}`, output: 'answer' },
      ...(costUsd !== undefined && { costUsd }),
      spans: trace.status === 'error' ? [failed] : []
    })
    t.equal((await call('POST', '/api/v1/traces', { body, ...(i === 0 && { key }) })).status, 201)
    for (const each of [
      { name: 'helpful', dataType: 'numeric', value: score },
      { name: 'verdict', dataType: 'categorical', value: pick(['right', 'wrong'], i) }
    ]) {
      await call('POST', `/api/v1/traces/${body.trace.id}/scores`, { body: each })
    }
  }
})

const read = async (a: string, b: string, more = '') => {
  const query = new URLSearchParams({ a, b })
  const { status, body } = await ask('GET', `${P}/group-pair?${query}&${DAY}${more}`)
  t.equal(status, 200, JSON.stringify(body))
  return body
}

t.test('filters by model, name and environment apply to both groups', async t => {
  const pair = await read('tag:prompt:v1', 'tag:prompt:v2', '&model=m1')
  for (const [side, tag] of [
    ['a', 'prompt:v1'],
    ['b', 'prompt:v2']
  ] as const) {
    t.equal(pair[side].total.traces, given.filter(each => each.tag === tag && each.model === 'm1').length, side)
  }
  t.equal((await read('tag:prompt:v1', 'tag:prompt:v2', '&name=none')).a.total.traces, 0)
  t.equal((await read('tag:prompt:v1', 'tag:prompt:v2', '&env=staging')).a.total.traces, 1)
  t.equal(
    (await read('model:m1', 'model:m2', '&model=m1')).b.total.traces,
    given.filter(({ model }) => model === 'm2').length
  )
})

t.test("each group has its traces' sums, in total and per step", async t => {
  for (const [a, b, fits] of [
    ['tag:prompt:v1', 'tag:prompt:v2', (each, side) => each.tag === (side === 'a' ? 'prompt:v1' : 'prompt:v2')],
    ['model:m1', 'model:m2', (each, side) => each.model === (side === 'a' ? 'm1' : 'm2')],
    ['user:ada', 'model:m2', (each, side) => (side === 'a' ? each.user === 'ada' : each.model === 'm2')]
  ] as [string, string, (each: (typeof given)[number], side: 'a' | 'b') => boolean][]) {
    const body = await read(a, b)
    t.match(body, { step: 'hour', since: null })
    for (const side of ['a', 'b'] as const) {
      const own = given.filter(each => fits(each, side))
      const sorted = own.map(({ ms }) => ms)
      t.match(body[side].total, {
        traces: own.length,
        errors: own.filter(({ status }) => status === 'error').length,
        priced: own.filter(({ costUsd }) => costUsd !== undefined).length,
        p50: sorted[Math.ceil(0.5 * own.length) - 1]
      })
      t.same(
        body[side].traces.slice(0, 20),
        given.map(each => (fits(each, side) ? 1 : 0))
      )
      const helpful = body.scores.find(({ name }: { name: string }) => name === 'helpful')
      const mean = own.reduce((sum, { score }) => sum + score, 0) / own.length
      t.equal(helpful[side].count, own.length)
      t.ok(Math.abs(helpful[side].average - mean) < 1e-9)
      t.equal(
        helpful.bars.reduce((sum: number, bar: Record<'a' | 'b', number>) => sum + bar[side], 0),
        own.length,
        'each score is in one bar'
      )
    }
  }
})

t.test('categories are counted, and examples are the newest failed and other traces', async t => {
  const body = await read('tag:prompt:v1', 'tag:prompt:v2')
  const verdict = body.scores.find(({ name }: { name: string }) => name === 'verdict')
  t.match(verdict, {
    a: { average: null },
    values: [
      { value: 'right', a: 10, b: 0 },
      { value: 'wrong', a: 0, b: 10 }
    ]
  })
  t.equal(body.a.examples.length, 3, 'no trace of the first group failed')
  t.match(body.a.examples[0], { status: 'ok', inputPreview: 'question 18', outputPreview: 'answer', firstError: null })
  t.match(
    body.b.examples.map(({ status }: { status: string }) => status),
    ['error', 'error', 'error', 'ok', 'ok', 'ok']
  )
  t.match(body.b.examples[0].firstError, { step: 'pay', message: 'No stock' })
})

t.test('an environment limits both groups', async t => {
  const body = await read('tag:prompt:v1', 'tag:prompt:v2', '&env=STAGING')
  t.match([body.a.total.traces, body.b.total.traces], [1, 0])
  t.match((await read('environment:staging', 'environment:unassigned')).a.total, { traces: 1 })
})

t.test('if a period has too many traces, only the newest are read', async t => {
  const filters = { a: { tag: 'prompt:v1' }, b: { model: 'm2' } }
  const asked = { period: periodBetween(START, START + 86_400_000), ...filters }
  const pair = await database.pool.run(sql => readGroupPair(sql, 1, asked, 6))
  const newest = given.slice(-6)
  t.ok(Date.parse(pair.since!) > START + 13 * 3_600_000)
  t.equal(pair.a.total.traces, newest.filter(({ tag }) => tag === 'prompt:v1').length)
  t.equal(pair.b.total.traces, newest.filter(({ model }) => model === 'm2').length)
  t.equal(pair.scores.find(({ name }) => name === 'helpful')!.a.count, pair.a.total.traces)
})

t.test("another account's groups cannot be compared, and invalid parameters are rejected by name", async t => {
  const { id } = await database.pool.run(sql => createAccount(sql, 'strangers', 'trial'))
  const stranger = await signedIn(service, 'stranger@example.com', 'owner', id)
  t.equal((await stranger.ask('GET', `${P}/group-pair?a=model:m1&b=model:m2`)).status, 404)
  for (const [query, name] of [
    ['a=model:m1', 'b'],
    ['a=m1&b=model:m2', 'a'],
    ['a=model:m1&b=step:x', 'b'],
    ['a=model:m1&b=model:%00', 'b']
  ] as const) {
    const { status, body } = await ask('GET', `${P}/group-pair?${query}`)
    t.match([status, body.error.message], [400, new RegExp(`${name}: `)], query)
  }
})
