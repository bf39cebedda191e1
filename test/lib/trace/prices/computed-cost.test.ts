import t from 'tap'
import { type PricedCall, priceCall } from '../../../../lib/trace/prices/computed-cost.ts'
import { findOwn, type OwnPrice } from '../../../../lib/trace/prices/own.ts'
import { priceTokens } from '../../../../lib/trace/prices/token-prices.ts'

const call = (over: Partial<PricedCall> = {}): PricedCall => ({
  ...{ kind: 'llm', provider: null, model: 'm', startedAt: '2026-11-21T12:00:00.000Z' },
  ...{ inputTokens: null, outputTokens: null, totalTokens: null, ...over }
})
const own = (over: Partial<OwnPrice> = {}): OwnPrice => ({
  ...{ model: 'm', from: null, isOfProject: false, input: 1_000_000, output: 2_000_000 },
  ...over
})
const sources = (...prices: OwnPrice[]) => ({ own: prices, mayLoad: true })

t.test('a cost covers all tokens that a call states', async t => {
  const price = own({ cacheRead: 100_000, cacheWrite: 3_000_000 })
  const cases: [string, Partial<PricedCall>, Parameters<typeof priceCall>[1], number | undefined][] = [
    ['input and output', { inputTokens: 10, outputTokens: 5 }, null, 20],
    ['the cache is part of the input', { inputTokens: 10 }, { cacheReadTokens: 5, cacheWriteTokens: 2 }, 9.5],
    ['a cache larger than the input was not included in it', { inputTokens: 1 }, { cacheReadTokens: 10 }, 1],
    ['reasoning is part of the output', { outputTokens: 10 }, { reasoningTokens: 4 }, 20],
    ['output from a total', { inputTokens: 10, totalTokens: 15 }, null, 20],
    ['input from a total', { outputTokens: 5, totalTokens: 15 }, null, 20],
    ['a total below its parts', { inputTokens: 10, totalTokens: 5 }, null, 10],
    ['a total alone determines neither', { totalTokens: 15 }, null, undefined],
    ['all tokens of an embedding are input', { kind: 'embedding', totalTokens: 15 }, null, 15],
    ['no tokens', {}, null, undefined],
    ['none used', { inputTokens: 0, outputTokens: 0 }, null, 0],
    ['no model', { model: null, inputTokens: 10 }, null, undefined],
    ['no call', { kind: 'agent', inputTokens: 10 }, null, undefined]
  ]
  for (const [name, given, details, cost] of cases) {
    t.equal(priceCall(call(given), details, sources(price))?.costUsd, cost, name)
  }
})

t.test('the cost names the prices that it comes from', async t => {
  const tokens = { inputTokens: 1_000_000, outputTokens: 1_000_000, provider: 'openai', model: 'gpt-4o' }
  t.strictSame(priceCall(call(tokens), null, sources()), {
    costUsd: 12.5,
    computedCost: { model: 'openai/gpt-4o', prices: '2026-09-23' }
  })
  t.strictSame(priceCall(call(tokens), null, sources(own({ model: 'gpt-4o', input: 1, output: 0 }))), {
    costUsd: 1,
    computedCost: { model: 'gpt-4o', prices: 'own' }
  })
  t.equal(priceCall(call({ inputTokens: 1 }), null, sources()), null, 'no price')
  t.equal(priceCall(call({ inputTokens: 1 }), null, sources(own({ input: 0 })))?.costUsd, 0, 'a price of 0')
})

t.test("the price in force at the start applies, and a project's price precedes that for all projects", async t => {
  const [day1, day2, day3] = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z']
  const prices = [
    own({ input: 1 }),
    own({ input: 2, from: day2 }),
    own({ input: 3, from: day2, isOfProject: true }),
    own({ input: 4, from: day3, isOfProject: true }),
    own({ input: 5, model: 'other', isOfProject: true })
  ]
  for (const given of [prices, prices.toReversed()]) {
    const at = (time: string) => findOwn(given, 'm', time)?.input
    t.strictSame([day1, day2, '2026-02-28T23:59:59.999Z', day3, '2026-12-01T00:00:00.000Z'].map(at), [1, 3, 3, 4, 4])
  }
  t.equal(findOwn(prices.slice(1), 'm', day1), undefined)
})

t.test('a tier applies to all tokens of a call', async t => {
  const tiered = {
    base: 1e6,
    tiers: [
      { start: 100, price: 2e6 },
      { start: 200, price: 3e6 }
    ]
  }
  const none = { output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
  const cost = (input: number) => priceTokens({ input: tiered }, { ...none, input })
  t.strictSame([100, 101, 200, 201].map(cost), [100, 202, 400, 603])
  t.equal(
    priceTokens({ input: 0.1e6, call: 0.25 }, { ...none, input: 3 }),
    0.55,
    'without the noise of binary fractions'
  )
})
