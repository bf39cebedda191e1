import fc from 'fast-check'
import t from 'tap'
import { modelsOf, sumSubtrees, totalsOf } from '../../../../../plugins/dashboard/app/content/span-sums.ts'
import { growTree } from '../../../../../plugins/dashboard/app/content/span-tree.ts'
import type { Outline, OutlineSpan } from '../../../../../plugins/dashboard/app/contract.ts'
import { outlineSpan as span } from '../trace/spans.ts'

const spent = (inputTokens: number, costUsd: number | null = null): Partial<OutlineSpan> => ({
  usage: { inputTokens, outputTokens: 1, totalTokens: inputTokens + 1 },
  costUsd
})
const call = (id: string, parent: string | null, inputTokens: number, costUsd: number | null = null) =>
  span(id, parent, { kind: 'llm', model: 'm', ...spent(inputTokens, costUsd) })
const sumsOf = (...spans: OutlineSpan[]) => sumSubtrees(growTree(spans))

t.test('a node sums the steps, failures, tokens and cost below it', async t => {
  const sums = sumsOf(span('a'), call('b', 'a', 10, 0.5), span('c', 'a', { status: 'error' }), call('d', 'c', 5, 0.25))
  t.same(sums.get('a'), {
    steps: 3,
    failures: 1,
    usage: { inputTokens: 15, outputTokens: 2, totalTokens: 17 },
    costUsd: 0.75
  })
  t.match(sums.get('c'), { steps: 1, failures: 0, costUsd: 0.25 })
  t.same(sums.get('d'), {
    steps: 0,
    failures: 0,
    usage: { inputTokens: 5, outputTokens: 1, totalTokens: 6 },
    costUsd: 0.25
  })
  t.match(sums.get(''), { steps: 4, failures: 1 }, 'the whole trace is under the empty key')
  t.match(sumsOf(span('a', 'gone', { status: 'error' })).get('missing:gone'), { steps: 1, failures: 1, usage: null })
})

t.test('a step that failed because of a child is not another failure', async t => {
  const failed = { status: 'error' } as const
  const sums = sumsOf(span('a', null, failed), span('b', 'a', failed), span('c', 'b', failed), span('d', 'a', failed))
  t.match([sums.get('')?.failures, sums.get('a')?.failures, sums.get('b')?.failures], [2, 2, 1])
})

t.test('each call counts once', async t => {
  const total = (...spans: OutlineSpan[]) => sumsOf(...spans).get('')?.usage?.inputTokens
  t.equal(total(span('a', null, { kind: 'agent', ...spent(30) }), call('b', 'a', 10), call('c', 'a', 20)), 30)
  t.equal(total(span('a', null, { kind: 'agent', ...spent(99) }), call('b', 'a', 10)), 10, 'the calls inside an agent')
  t.equal(total(span('a', null, { kind: 'agent', ...spent(99) }), span('b', 'a')), 99, 'an agent without calls')
  t.equal(total(call('a', null, 10), call('b', 'a', 10)), 10, 'an outer call restates the inner one')
  t.equal(total(span('a'), span('b', 'a')), undefined)
})

t.test("a trace's sums are those of its roots, in any order", async () => {
  const parents = fc.option(fc.constantFrom(...'abcdef'))
  const kinds = fc.constantFrom('llm', 'tool', 'agent')
  const spans = fc.uniqueArray(fc.tuple(fc.constantFrom(...'abcdef'), parents, kinds, fc.nat(9)), {
    selector: ([id]) => id
  })
  fc.assert(
    fc.property(spans, given => {
      const made = given.map(([id, parent, kind, tokens]) =>
        span(id, parent, { kind: kind as OutlineSpan['kind'], ...(tokens > 0 && spent(tokens)) })
      )
      const [one, other] = [sumsOf(...made).get(''), sumsOf(...made.toReversed()).get('')]
      return one?.steps === made.length && (one.usage === null) === (other?.usage === null)
    })
  )
})

t.test('totals that a trace does not state are taken from its steps, and marked', async t => {
  const none = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  const trace = { usage: none, costUsd: null, model: null } as Outline['trace']
  const spans = [call('a', null, 10, 0.5), call('b', null, 5), span('c', null, { model: 'other' })]
  const totals = totalsOf({ trace, spans }, sumsOf(...spans).get(''))
  t.match(totals, { usage: { inputTokens: 15, totalTokens: 17 }, costUsd: 0.5, model: 'm' })
  t.same([...totals.fromSteps], ['usage', 'cost', 'model'])
  const own = { usage: { ...none, totalTokens: 7 }, costUsd: 0, model: 'own' } as Outline['trace']
  const stated = totalsOf({ trace: own, spans }, sumsOf(...spans).get(''))
  t.match(stated, { usage: { totalTokens: 7 }, costUsd: 0, model: 'own' })
  t.equal(stated.fromSteps.size, 0)
  t.equal(totalsOf({ trace, spans: [] }, sumsOf().get('')).fromSteps.size, 0)
  t.same(modelsOf(spans), ['m', 'other'])
})
