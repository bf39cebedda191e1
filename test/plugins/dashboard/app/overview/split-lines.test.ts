/** Tests which groups the charts of a split draw, and how a table of groups is sorted. */
import fc from 'fast-check'
import t from 'tap'
import type { SplitAnswer, SplitRow } from '../../../../../plugins/dashboard/app/contract.ts'
import { METRICS } from '../../../../../plugins/dashboard/app/overview/changes.ts'
import { RANKS, rankedRows, readRank, usualRank } from '../../../../../plugins/dashboard/app/overview/group-ranks.ts'
import { linesOfCharts } from '../../../../../plugins/dashboard/app/overview/split-lines.ts'

type Line = SplitAnswer['lines'][number]
const line = (key: string | null, over: Partial<Line>): Line => {
  const zeros = [0, 0]
  return {
    ...{ key, kind: null, isOther: key === null, traces: [1, 0], errors: zeros, priced: zeros },
    ...{ inputTokens: zeros, outputTokens: zeros, costUsd: zeros, p50: zeros, p90: zeros, p95: [7, null], p99: zeros },
    ...over
  }
}
const keysOf = (lines: readonly { readonly key: string | null }[]) => lines.map(({ key }) => key)

t.test('each chart draws its own top groups, and all others as one', async t => {
  const often = Array.from({ length: 6 }, (_, i) => line(`often${i}`, { traces: [10 - i, 10] }))
  const dear = line('dear', { costUsd: [3, 4] })
  const long = line('long', { inputTokens: [5, 0], outputTokens: [0, 5] })
  const failing = line('failing', { errors: [0, 1] })
  const rest = line(null, { traces: [2, 2], costUsd: [1, 0] })
  const charts = linesOfCharts([...often, dear, long, failing, rest], METRICS)
  t.same(keysOf(charts.traces), ['often0', 'often1', 'often2', 'often3', 'often4', null])
  t.same(keysOf(charts.latency), keysOf(charts.traces))
  t.equal(charts.cost[0]?.key, 'dear')
  t.equal(charts.tokens[0]?.key, 'long')
  t.equal(charts.errors[0]?.key, 'failing')
  t.match(charts.traces.at(-1), { isOther: true, traces: [10, 12], costUsd: [4, 4], p95: null, tone: undefined })
  t.same(linesOfCharts([rest], ['latency']).latency[0]?.p95, [7, null], 'a group alone has its own percentiles')
})

t.test('a chart loses nothing, has one colour per group, and groups keep their colours if possible', async t => {
  const lines = fc.array(
    fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)).map(([traces, cost, errors]) => ({ traces, cost, errors })),
    { maxLength: 20 }
  )
  fc.assert(
    fc.property(lines, fc.boolean(), (made, hasRest) => {
      const all = made.map(({ traces, cost, errors }, i) =>
        line(`g${i}`, { traces: [traces, 1], costUsd: [cost, 0], errors: [errors, 0] })
      )
      if (hasRest) all.push(line(null, {}))
      const charts = linesOfCharts(all, METRICS)
      const sum = (of: readonly { readonly traces: readonly number[] }[]) =>
        of.reduce((total, { traces }) => total + traces[0]! + traces[1]!, 0)
      for (const metric of METRICS) {
        const drawn = charts[metric]
        t.equal(sum(drawn), sum(all))
        const tones = drawn.flatMap(({ tone }) => tone ?? [])
        t.equal(new Set(tones).size, tones.length)
        t.ok(tones.every(tone => tone >= 1 && tone <= 6))
        t.ok(drawn.filter(({ isOther }) => isOther).length <= 1)
      }
      if (all.length <= 5) {
        const toneOf = (metric: (typeof METRICS)[number]) => new Map(charts[metric].map(({ key, tone }) => [key, tone]))
        for (const [key, tone] of toneOf('traces')) t.equal(toneOf('cost').get(key), tone)
      }
    }),
    { numRuns: 60 }
  )
})

t.test('a table is sorted by any of its columns, and all others come last', async t => {
  const total = (over: object) => ({
    ...{ traces: 1, errors: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, priced: 0 },
    ...{ p50: 1, p90: 1, p95: 1, p99: 1, ...over }
  })
  const row = (key: string | null, over: object): SplitRow => ({
    ...{ key, kind: null, isOther: key === null, total: total(over), before: null }
  })
  const rows = [
    row('a', { traces: 9, errors: 1, p95: null, inputTokens: 1 }),
    row('b', { traces: 2, errors: 1, priced: 1, costUsd: 0.5, p50: 9 }),
    row('c', { traces: 3, priced: 3, costUsd: 2, outputTokens: 4, p95: 5 }),
    row(null, { traces: 99, priced: 99, costUsd: 99 })
  ]
  const orders = Object.fromEntries(RANKS.map(rank => [rank, keysOf(rankedRows(rows, rank))]))
  t.same(orders, {
    traces: ['a', 'c', 'b', null],
    rate: ['b', 'a', 'c', null],
    p50: ['b', 'a', 'c', null],
    p95: ['c', 'b', 'a', null],
    tokens: ['c', 'a', 'b', null],
    cost: ['c', 'b', 'a', null]
  })
  t.equal(usualRank('user', rows), 'cost')
  t.equal(usualRank('user', rows.slice(0, 1)), 'traces')
  t.equal(usualRank('model', rows), 'traces')
  t.same(['cost', 'x', undefined].map(readRank), ['cost', undefined, undefined])
})
