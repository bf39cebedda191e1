/** Duplicate instrumentation: however two libraries report the calls of a trace, each call counts once. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SpanTree } from '../../../lib/trace/span-tree.ts'
import { type SpanUsage, sumExactly, sumSpending } from '../../../lib/trace/span-usage.ts'
import type { GatheredSpan } from '../../../lib/trace/states/gathered.ts'
import { runs } from '../../torture/orders.ts'
import { exported, idOf, Store, span, at as timeAt } from './states/export-store.ts'

/** The ways in which a second library reports a call that the first library has reported. */
const DOUBLINGS = [
  'not at all',
  'inside',
  'inside, below steps',
  'around',
  'beside, by response',
  'beside, by time'
] as const

interface Call {
  readonly doubling: (typeof DOUBLINGS)[number]
  readonly kind: 'llm' | 'embedding'
  readonly parent: number
  readonly steps: number
  readonly tokens: number
  readonly hasResponse: boolean
}

const call: fc.Arbitrary<Call> = fc.record({
  doubling: fc.constantFrom(...DOUBLINGS),
  kind: fc.constantFrom('llm', 'embedding'),
  parent: fc.nat(3),
  steps: fc.integer({ min: 1, max: 3 }),
  tokens: fc.integer({ min: 1, max: 3 }),
  hasResponse: fc.boolean()
})

/** Returns the spans of a trace with the given calls, one after another, below a root and some steps. */
function traceOf(calls: readonly Call[]): GatheredSpan[] {
  let next = 100
  const root = span(1, 0, 1000, { kind: 'agent', inputTokens: 999_999, hints: { level: 1 } })
  const steps = [2, 3, 4].map(id => span(id, 0, 1000, { kind: 'chain', parentId: idOf(id - 1) }))
  const spans = [root, ...steps]
  calls.forEach(({ doubling, kind, parent, steps, tokens, hasResponse }, i) => {
    const at = 10 * i
    const response = `response ${i}`
    const add = (parentId: number, from: number, to: number, responseId?: string) => {
      const id = next++
      const usage = { inputTokens: tokens, outputTokens: kind === 'llm' ? tokens : null, costUsd: tokens / 4 }
      const model = { model: 'm', provider: 'p' }
      spans.push(span(id, from, to, { kind, ...usage, ...model, parentId: idOf(parentId), hints: { responseId } }))
      return id
    }
    const below = (parentId: number) => {
      const id = next++
      spans.push(span(id, at, at + 9, { kind: 'custom', parentId: idOf(parentId) }))
      return id
    }
    const own = hasResponse ? response : undefined
    const above = parent + 1
    switch (doubling) {
      case 'not at all':
        add(above, at, at + 9, own)
        break
      case 'inside':
        add(add(above, at, at + 9, own), at + 1, at + 8)
        break
      case 'inside, below steps': {
        let inner = add(above, at, at + 9)
        for (let step = 0; step < steps; step++) inner = below(inner)
        add(inner, at + 1, at + 8, own)
        break
      }
      case 'around':
        // In the trace, the inner library's span has only the outer library's span as its parent.
        add(add(above, at, at + 9), at, at + 9, own)
        break
      case 'beside, by response':
        add(above, at, at + 7, response)
        add(below(above), at + 2, at + 9, response)
        break
      case 'beside, by time':
        add(above, at, at + 9, own)
        add(above, at + 1, at + 8)
    }
  })
  return spans
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

t.test('each call counts once, in any order and portions of the spans', async () => {
  const histories = fc.array(call, { minLength: 1, maxLength: 8 }).chain(calls => {
    const spans = traceOf(calls)
    const order = fc.shuffledSubarray(spans, { minLength: spans.length })
    return fc.record({ calls: fc.constant(calls), order, cuts: fc.array(fc.nat(spans.length), { maxLength: 4 }) })
  })
  fc.assert(
    fc.property(histories, ({ calls, order, cuts }) => {
      const store = new Store()
      const places = [0, ...cuts.toSorted((a, b) => a - b), order.length]
      for (const [i, end] of places.slice(1).entries()) store.export(order.slice(places[i], end))
      const { inputTokens, outputTokens, costUsd } = store.trace
      assert.equal(inputTokens, sum(calls.map(({ tokens }) => tokens)))
      assert.equal(outputTokens ?? 0, sum(calls.map(({ tokens, kind }) => (kind === 'llm' ? tokens : 0))))
      assert.equal(costUsd, sum(calls.map(({ tokens }) => tokens / 4)))
    }),
    runs(150)
  )
})

const ONE_ID = { hints: { responseId: 'chatcmpl-1' } }

t.test('calls that only look alike are all counted', async t => {
  const alike = (id: number, from: number, to: number, over = {}) =>
    span(id, from, to, { kind: 'llm', parentId: idOf(1), model: 'm', inputTokens: 10, outputTokens: 2, ...over })
  const root = span(1, 0, 99, { kind: 'agent', hints: { level: 1 } })
  const cases: [string, GatheredSpan[], number][] = [
    ['one after the other', [alike(2, 0, 5), alike(3, 5, 9)], 20],
    ['at the same time', [alike(2, 0, 5), alike(3, 0, 5)], 20],
    ['started before the other ended', [alike(2, 0, 5), alike(3, 1, 6)], 20],
    ['with different usage', [alike(2, 0, 9), alike(3, 1, 5, { outputTokens: 3 })], 20],
    ['with a different model', [alike(2, 0, 9), alike(3, 1, 5, { model: 'n' })], 20],
    ['below another step', [alike(2, 0, 9), alike(3, 1, 5, { parentId: idOf(4) })], 20],
    [
      'with two responses',
      [alike(2, 0, 9, { hints: { responseId: 'a' } }), alike(3, 1, 5, { hints: { responseId: 'b' } })],
      20
    ],
    ['one after the other, from a server with a single id', [2, 3].map(id => alike(id, id, id + 1, ONE_ID)), 20],
    ['two inside one, which has one duplicate', [alike(2, 0, 9), alike(3, 1, 4), alike(4, 5, 8)], 20],
    ['two pairs at the same time', [alike(2, 0, 9), alike(3, 1, 10), alike(4, 2, 7), alike(5, 3, 8)], 20]
  ]
  for (const [name, calls, inputTokens] of cases)
    t.equal(exported([root, ...calls]).trace.inputTokens, inputTokens, name)
})

t.test('a call that two libraries report with millisecond clocks counts once', async t => {
  const root = span(1, 0, 99, { kind: 'agent', hints: { level: 1 } })
  const call = (id: number, startMicros: number, endMicros: number, responseId?: string) => {
    const usage = { model: 'm', inputTokens: 10, outputTokens: 2 }
    const hints = { startMicros, endMicros, responseId }
    return span(id, 0, 1, { kind: 'llm', parentId: idOf(1), ...usage, hints })
  }
  const cases: [string, GatheredSpan[], number][] = [
    ['both started in the same millisecond', [call(2, 5_000, 9_400), call(3, 5_000, 9_300, 'a')], 10],
    ['the same, of which the outer one is last', [call(2, 5_000, 9_300, 'a'), call(3, 5_000, 9_400)], 10],
    ['the inner one started in the next', [call(2, 5_000, 9_400), call(3, 6_000, 10_200, 'a')], 10],
    [
      'two pairs at the same time',
      [2, 3, 4, 5].map(id => call(id, 5_000, 9_000 + id, id < 4 ? `answer ${id}` : undefined)),
      20
    ],
    ['from a library without ids', [call(2, 5_000, 9_400), call(3, 5_000, 9_300)], 20],
    ['ended a millisecond later', [call(2, 5_000, 9_400), call(3, 7_000, 10_400, 'a')], 20],
    ['with exact clocks', [call(2, 5_001, 9_400), call(3, 5_002, 9_500, 'a')], 20]
  ]
  for (const [name, calls, inputTokens] of cases)
    t.equal(exported([root, ...calls]).trace.inputTokens, inputTokens, name)
})

t.test('of calls whose parents form a cycle, one counts', async t => {
  const call = (id: string, parentId: string): SpanUsage => ({
    id,
    parentId,
    kind: 'llm',
    inputTokens: 1,
    outputTokens: null,
    totalTokens: null,
    costUsd: null,
    model: null,
    startMicros: 0,
    endMicros: 1,
    responseId: undefined
  })
  t.equal(sumSpending(new SpanTree([call('a', 'b'), call('b', 'a')])).inputTokens, 1)
  t.equal(sumSpending(new SpanTree([call('a', 'a')])).inputTokens, 1)
})

t.test('usage and cost reported by spans of any kind count, unless another span repeats them', async t => {
  const root = span(1, 0, 99, { hints: { level: 1 } })
  const at = (id: number, kind: string, parent: number, tokens: number | null, over: object = {}) =>
    span(id, id, id + 1, { kind, parentId: idOf(parent), inputTokens: tokens, ...over })
  const priced = (costUsd: number, responseId?: string) => ({ costUsd, hints: { responseId } })
  const cases: [string, GatheredSpan[], number | null, number | null][] = [
    ['an agent over tools', [at(2, 'agent', 1, 330), at(3, 'tool', 2, null)], 330, null],
    ['two agents', [at(2, 'agent', 1, 330), at(3, 'agent', 1, 110)], 440, null],
    [
      'an agent next to one with a call',
      [at(2, 'agent', 1, 330), at(3, 'agent', 1, 110), at(4, 'llm', 3, 110)],
      440,
      null
    ],
    ['an agent that repeats its calls', [at(2, 'agent', 1, 500), at(3, 'llm', 2, 100), at(4, 'llm', 2, 50)], 150, null],
    ['agents that wrap one another', [at(2, 'agent', 1, 300), at(3, 'chain', 2, 300)], 300, null],
    [
      'a chain with the sum of its agents',
      [at(2, 'chain', 1, 440), at(3, 'agent', 2, 330), at(4, 'agent', 2, 110)],
      440,
      null
    ],
    ['an agent over a tool that states a little', [at(2, 'agent', 1, 300), at(3, 'tool', 2, 5)], 300, null],
    [
      'a call, a reranker and a tool',
      [at(2, 'llm', 1, 15, priced(0.25)), at(3, 'reranker', 1, null, priced(0.5)), at(4, 'tool', 1, null, priced(0.7))],
      15,
      1.45
    ],
    ['a tool inside a call', [at(2, 'llm', 1, 15, priced(0.25)), at(3, 'tool', 2, null, priced(0.7))], 15, 0.95],
    ['an agent inside a call', [at(2, 'llm', 1, 15, priced(0.25)), at(3, 'agent', 2, 15, priced(0.25))], 15, 0.25],
    [
      'calls with two response ids, one inside the other',
      [at(2, 'llm', 1, 110, priced(1, 'a')), at(3, 'tool', 2, null), at(4, 'llm', 3, 55, priced(2, 'b'))],
      165,
      3
    ],
    [
      'calls with one response id',
      [at(2, 'llm', 1, 110, priced(1, 'a')), at(3, 'chain', 2, null), at(4, 'llm', 3, 110, priced(1, 'a'))],
      110,
      1
    ],
    ['an embedding inside a call', [at(2, 'llm', 1, 110), at(3, 'embedding', 2, 8)], 118, null],
    ['a cost that only the agent states', [at(2, 'agent', 1, 110, priced(0.5)), at(3, 'llm', 2, 110)], 110, 0.5]
  ]
  for (const [name, spans, inputTokens, costUsd] of cases) {
    t.match(exported([root, ...spans]).trace, { inputTokens, costUsd }, name)
    t.match(exported(...[root, ...spans].toReversed().map(each => [each])).trace, { inputTokens, costUsd }, name)
  }
})

t.test('random trees are counted according to the rules, in any order and portions', async () => {
  const node = fc.record({
    kind: fc.constantFrom('llm', 'llm', 'embedding', 'agent', 'chain', 'custom', 'tool', 'reranker'),
    parent: fc.nat(),
    tokens: fc.constantFrom(null, 1, 2, 10, 100),
    costUsd: fc.constantFrom(null, 0.1, 0.2, 0.3),
    response: fc.constantFrom(undefined, undefined, 1, 2)
  })
  type Node = {
    kind: string
    parent: number
    tokens: number | null
    costUsd: number | null
    response?: number | undefined
  }
  // A second implementation of the rules, from the root down. No two spans overlap, so no span is another's twin.
  const countedOf = (nodes: readonly Node[], of: (node: Node) => number | null) => {
    const childrenOf = (i: number) => nodes.flatMap((each, n) => (n > 0 && each.parent % n === i ? [n] : []))
    const walk = (i: number, around: readonly Node[]): { sum: number; counted: Node[]; call: boolean } => {
      const own = nodes[i]!
      const amount = of(own)
      const isCall = own.kind === 'llm' || own.kind === 'embedding'
      const repeats = around.some(
        call => call.kind === own.kind && !(call.response && own.response && call.response !== own.response)
      )
      const isRepeated = isCall ? repeats : around.length > 0 && ['agent', 'chain', 'custom'].includes(own.kind)
      const counts = amount !== null && !isRepeated
      const below = childrenOf(i).map(n => walk(n, counts && isCall ? [...around, own] : around))
      const sum = below.reduce((all, each) => all + each.sum, 0)
      const counted = below.flatMap(each => each.counted)
      const call = below.some(each => each.call)
      if (counts && isCall) return { sum: sum + amount, counted: [own, ...counted], call: true }
      if (counts && !call && (sum === 0 || amount > sum + 1e-9)) return { sum: amount, counted: [own], call: false }
      return { sum, counted, call: call || (isCall && amount !== null) }
    }
    const { counted } = walk(0, [])
    return counted.length === 0 ? null : counted.reduce((all, node) => all + of(node)!, 0)
  }
  const history = fc.array(node, { minLength: 1, maxLength: 40 }).chain(nodes => {
    const spans = nodes.map(({ kind, parent, tokens, costUsd, response }, i) =>
      span(i + 1, 10 * i, 10 * i + 5, {
        ...{ kind, costUsd, inputTokens: tokens, parentId: i === 0 ? null : idOf((parent % i) + 1) },
        hints: { level: i === 0 ? 1 : 3, responseId: response === undefined ? undefined : `r${response}` }
      })
    )
    return fc.record({
      nodes: fc.constant(nodes),
      order: fc.shuffledSubarray(spans, { minLength: spans.length }),
      size: fc.integer({ min: 1, max: 10 })
    })
  })
  fc.assert(
    fc.property(history, ({ nodes, order, size }) => {
      const store = new Store()
      for (let i = 0; i < order.length; i += size) store.export(order.slice(i, i + size))
      const { inputTokens, costUsd } = store.trace
      assert.equal(
        inputTokens,
        countedOf(nodes, ({ tokens }) => tokens)
      )
      const cost = countedOf(nodes, ({ costUsd }) => costUsd)
      if (cost === null) assert.equal(costUsd, null)
      else assert.ok(Math.abs(costUsd! - cost) < 1e-9, `${costUsd} is not ${cost}`)
      assert.deepEqual(exported(order.toReversed()).trace.costUsd, costUsd, 'to the last digit')
    }),
    runs(300)
  )
})

t.test('sums of doubles are rounded once', async () => {
  const cost = fc.double({ min: 0, max: 1e6, noNaN: true })
  fc.assert(
    fc.property(fc.array(cost, { minLength: 1, maxLength: 30 }), values => {
      const sum = sumExactly(values)
      assert.equal(sumExactly(values.toReversed()), sum)
      // Each double is an integer multiple of 2^-1074.
      const exact = values.reduce((all, value) => all + wholeOf(value), 0n)
      const distance = (other: number) => {
        const by = wholeOf(other) - exact
        return by < 0n ? -by : by
      }
      for (const other of [nextUp(sum!), -nextUp(-sum!)]) assert.ok(distance(sum!) <= distance(Math.max(other, 0)))
    }),
    runs(300)
  )
  assert.equal(sumExactly([0.25, 0.5, 0.7]), 1.45)
  assert.equal(sumExactly([]), null)
  assert.equal(sumExactly([1e308, 1e308]), Number.MAX_VALUE)
})

const bits = new DataView(new ArrayBuffer(8))
/** Converts a double to a multiple of the smallest positive double. */
function wholeOf(value: number): bigint {
  bits.setFloat64(0, Math.abs(value))
  const all = bits.getBigUint64(0)
  const exponent = all >> 52n
  const fraction = all & ((1n << 52n) - 1n)
  const whole = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n)
  return value < 0 ? -whole : whole
}

/** Returns the next larger double. */
function nextUp(value: number): number {
  if (value === 0) return Number.MIN_VALUE
  bits.setFloat64(0, value)
  bits.setBigUint64(0, bits.getBigUint64(0) + (value > 0 ? 1n : -1n))
  return bits.getFloat64(0)
}

const BASE_MICROS = Date.parse(timeAt(0)) * 1000
/** The ways in which a report of a call may have a cost. */
const COSTS = ['reported', 'computed', 'none'] as const

t.test('of several reports of a call, a reported cost precedes a computed one, in any order and portions', async () => {
  const calls = fc.array(fc.tuple(call, fc.constantFrom(...COSTS), fc.constantFrom(...COSTS)), {
    minLength: 1,
    maxLength: 8
  })
  const histories = calls.chain(calls => {
    const spans = traceOf(calls.map(([call]) => call))
    let at = -1
    let before = -1
    const priced = spans.map(span => {
      if (span.kind !== 'llm' && span.kind !== 'embedding') return span
      // The reports of a call are consecutive, and start within ten seconds.
      const index = Math.floor((span.hints.startMicros - BASE_MICROS) / 10_000_000)
      at = index === before ? at + 1 : 0
      before = index
      const says = calls[index]![at === 0 ? 1 : 2]
      const costUsd = says === 'none' ? null : span.costUsd! * (says === 'reported' ? 3 : 5)
      return { ...span, costUsd, costIsComputed: says === 'computed' }
    })
    return fc.record({
      calls: fc.constant(calls),
      order: fc.shuffledSubarray(priced, { minLength: priced.length }),
      cuts: fc.array(fc.nat(priced.length), { maxLength: 4 })
    })
  })
  fc.assert(
    fc.property(histories, ({ calls, order, cuts }) => {
      const store = new Store()
      const places = [0, ...cuts.toSorted((a, b) => a - b), order.length]
      for (const [i, end] of places.slice(1).entries()) store.export(order.slice(places[i], end))
      const costs = calls.map(([{ tokens, doubling }, first, second]) => {
        const said = doubling === 'not at all' ? [first] : [first, second]
        return said.includes('reported') ? (tokens / 4) * 3 : said.includes('computed') ? (tokens / 4) * 5 : null
      })
      const known = costs.filter(cost => cost !== null)
      assert.equal(store.trace.costUsd, known.length === 0 ? null : sum(known))
      assert.equal(store.trace.inputTokens, sum(calls.map(([{ tokens }]) => tokens)))
    }),
    runs(150)
  )
})

t.test('a computed cost counts only if no reported cost around or inside the call does', async t => {
  const root = span(1, 0, 99, { hints: { level: 1 } })
  const at = (
    id: number,
    kind: string,
    parent: number,
    costUsd: number | null,
    computed = false,
    responseId?: string
  ) =>
    span(id, id, id + 1, {
      ...{ kind, parentId: idOf(parent), inputTokens: 10, costUsd, costIsComputed: computed, hints: { responseId } }
    })
  const cases: [string, GatheredSpan[], number][] = [
    ['alone', [at(2, 'llm', 1, 1, true), at(3, 'llm', 1, 2, true)], 3],
    ['inside a computed one', [at(2, 'llm', 1, 1, true), at(3, 'llm', 2, 2, true)], 1],
    [
      'below an agent that states one',
      [at(2, 'agent', 1, 0.5), at(3, 'llm', 2, 1, true), at(4, 'llm', 2, 1, true)],
      0.5
    ],
    ['below an agent that states 0', [at(2, 'agent', 1, 0), at(3, 'llm', 2, 1, true)], 0],
    ['next to an agent that states one', [at(2, 'agent', 1, 0.5), at(3, 'llm', 1, 1, true)], 1.5],
    ['next to a call that reports one', [at(2, 'llm', 1, 0.5), at(3, 'llm', 1, 1, true)], 1.5],
    [
      'next to a call that reports one, below an agent whose cost yields to it',
      [at(2, 'agent', 1, 0.7), at(3, 'llm', 2, 0.5), at(4, 'llm', 2, 1, true)],
      1.5
    ],
    ['inside a call that reports one', [at(2, 'llm', 1, 0.5), at(3, 'chain', 2, null), at(4, 'llm', 3, 1, true)], 0.5],
    ['around a call that reports one', [at(2, 'llm', 1, 1, true), at(3, 'chain', 2, null), at(4, 'llm', 3, 0.5)], 0.5],
    ['around an agent that states one', [at(2, 'llm', 1, 1, true), at(3, 'agent', 2, 0.5)], 0.5],
    ['around a tool with its own cost', [at(2, 'llm', 1, 1, true), at(3, 'tool', 2, 0.5)], 1.5],
    ['an embedding inside a call', [at(2, 'llm', 1, 0.5), at(3, 'embedding', 2, 1, true)], 1.5],
    [
      'calls with two response ids, one inside the other',
      [at(2, 'llm', 1, 0.5, false, 'a'), at(3, 'llm', 2, 1, true, 'b')],
      1.5
    ]
  ]
  for (const [name, spans, costUsd] of cases) {
    t.match(exported([root, ...spans]).trace, { costUsd }, name)
    t.match(exported(...[root, ...spans].toReversed().map(each => [each])).trace, { costUsd }, name)
  }
})
