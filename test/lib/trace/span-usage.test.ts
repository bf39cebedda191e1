/** Doubled instrumentation: however two libraries report the calls of a trace, each call counts once. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SpanTree } from '../../../lib/trace/span-tree.ts'
import { type SpanUsage, sumSpending } from '../../../lib/trace/span-usage.ts'
import type { GatheredSpan } from '../../../lib/trace/states/gathered.ts'
import { runs } from '../../torture/orders.ts'
import { exported, idOf, Store, span } from './states/export-store.ts'

/** How a second library reports a call that the first has reported. */
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

/** The spans of a trace with these calls, one after the other below a root and some steps. */
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
        // The library that is inside has no parent in the trace but the other one.
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

t.test('each call counts once, in whatever order and portions the spans come', async () => {
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

t.test('calls that only look alike all count', async t => {
  const alike = (id: number, from: number, to: number, over = {}) =>
    span(id, from, to, { kind: 'llm', parentId: idOf(1), model: 'm', inputTokens: 10, outputTokens: 2, ...over })
  const root = span(1, 0, 99, { kind: 'agent', hints: { level: 1 } })
  const cases: [string, GatheredSpan[], number][] = [
    ['one after the other', [alike(2, 0, 5), alike(3, 5, 9)], 20],
    ['at the same time', [alike(2, 0, 5), alike(3, 0, 5)], 20],
    ['begun before the other ended', [alike(2, 0, 5), alike(3, 1, 6)], 20],
    ['of other usage', [alike(2, 0, 9), alike(3, 1, 5, { outputTokens: 3 })], 20],
    ['of another model', [alike(2, 0, 9), alike(3, 1, 5, { model: 'n' })], 20],
    ['below another step', [alike(2, 0, 9), alike(3, 1, 5, { parentId: idOf(4) })], 20],
    [
      'with two answers',
      [alike(2, 0, 9, { hints: { responseId: 'a' } }), alike(3, 1, 5, { hints: { responseId: 'b' } })],
      20
    ],
    ['one after the other, of a server that gives one id', [2, 3].map(id => alike(id, id, id + 1, ONE_ID)), 20],
    ['two within one: it has one twin', [alike(2, 0, 9), alike(3, 1, 4), alike(4, 5, 8)], 20],
    ['two pairs at the same time', [alike(2, 0, 9), alike(3, 1, 10), alike(4, 2, 7), alike(5, 3, 8)], 20]
  ]
  for (const [name, calls, inputTokens] of cases)
    t.equal(exported([root, ...calls]).trace.inputTokens, inputTokens, name)
})

t.test('a call that two libraries report counts once by clocks of whole milliseconds', async t => {
  const root = span(1, 0, 99, { kind: 'agent', hints: { level: 1 } })
  const call = (id: number, startMicros: number, endMicros: number, responseId?: string) => {
    const usage = { model: 'm', inputTokens: 10, outputTokens: 2 }
    const hints = { startMicros, endMicros, responseId }
    return span(id, 0, 1, { kind: 'llm', parentId: idOf(1), ...usage, hints })
  }
  const cases: [string, GatheredSpan[], number][] = [
    ['both begun in one millisecond', [call(2, 5_000, 9_400), call(3, 5_000, 9_300, 'a')], 10],
    ['the same, of which the outer one is last', [call(2, 5_000, 9_300, 'a'), call(3, 5_000, 9_400)], 10],
    ['the inner one begun in the next', [call(2, 5_000, 9_400), call(3, 6_000, 10_200, 'a')], 10],
    [
      'two pairs at the same time',
      [2, 3, 4, 5].map(id => call(id, 5_000, 9_000 + id, id < 4 ? `answer ${id}` : undefined)),
      20
    ],
    ['of a library that gives no ids', [call(2, 5_000, 9_400), call(3, 5_000, 9_300)], 20],
    ['ended a millisecond later', [call(2, 5_000, 9_400), call(3, 7_000, 10_400, 'a')], 20],
    ['by exact clocks', [call(2, 5_001, 9_400), call(3, 5_002, 9_500, 'a')], 20]
  ]
  for (const [name, calls, inputTokens] of cases)
    t.equal(exported([root, ...calls]).trace.inputTokens, inputTokens, name)
})

t.test('of calls whose parents form a circle, one counts', async t => {
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
