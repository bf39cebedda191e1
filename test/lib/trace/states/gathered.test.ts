import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { MAX_DOCUMENT_BYTES } from '../../../../lib/schema/input.ts'
import { mergedMetadata, mergeMetadata } from '../../../../lib/trace/metadata.ts'
import type { ExportState } from '../../../../lib/trace/states/decide-export.ts'
import { type GatheredSpan, INNER, type Level, PROCESS_ROOT, ROOT } from '../../../../lib/trace/states/gathered.ts'
import { runs } from '../../../torture/orders.ts'
import { at, exported, type Given, hashOf, idOf, Store, span } from './export-store.ts'

// A second definition of what a set of spans means, independent of the order in which the spans arrived.

type Picked<T> = [order: number[], id: string, value: T]
const least = <T>(list: Picked<T>[]): T | undefined =>
  list.sort(([a, x], [b, y]) => {
    const i = a.findIndex((n, i) => n !== b[i])
    return i === -1 ? (x < y ? -1 : 1) : (a[i] as number) - (b[i] as number)
  })[0]?.[2]

function meaning(spans: readonly GatheredSpan[]) {
  const pick = <T>(of: (span: GatheredSpan) => { grade?: number; order?: number; value: T | null | undefined }) =>
    least(
      spans.flatMap(each => {
        const { grade = each.hints.level, order = each.hints.startMicros, value } = of(each)
        return value === null || value === undefined ? [] : [[[grade, order], each.id, value] as Picked<T>]
      })
    )
  const root = pick(each => ({ value: each.hints.level === INNER ? null : each }))
  const grade = (each: GatheredSpan) => (each.kind === 'llm' ? 1 : each.hints.level === ROOT ? 2 : 3)
  const own = (each: GatheredSpan, side: 'input' | 'output') =>
    each.kind === 'tool' && each.hints.level === INNER ? null : each[side]
  const keys = new Set(spans.flatMap(({ hints }) => Object.keys(hints.metadata)))
  const metadata = [...keys].map(key => [
    key,
    JSON.parse(
      pick(({ hints }) => ({ value: Object.hasOwn(hints.metadata, key) ? hints.metadata[key] : null })) as string
    )
  ])
  const level = Math.min(...spans.map(({ hints }) => hints.level))
  const statuses = spans.filter(({ hints }) => hints.level === level).map(({ status }) => status)
  return {
    name: pick(({ hints }) => (hints.name ? { grade: 0, value: hints.name } : { value: hints.ownName })),
    status: root === undefined ? 'running' : ['error', 'ok', 'unset'].find(each => statuses.includes(each)),
    startedAt: spans.map(({ startedAt }) => startedAt).sort()[0],
    endedAt:
      root === undefined
        ? null
        : spans
            .map(({ endedAt }) => endedAt)
            .sort()
            .at(-1),
    provider: pick(each => ({ grade: grade(each), value: each.provider })) ?? null,
    model: pick(each => ({ grade: grade(each), value: each.model })) ?? null,
    sessionId: pick(({ hints }) => ({ value: hints.sessionId })) ?? null,
    userId: pick(({ hints }) => ({ value: hints.userId })) ?? null,
    tags: [...new Set(spans.flatMap(({ hints }) => hints.tags))].sort(),
    metadata: Object.fromEntries(metadata),
    input:
      pick(each => (each.hints.input ? { grade: 0, value: each.hints.input } : { value: own(each, 'input') })) ?? null,
    output:
      pick(each => {
        const order = -each.hints.endMicros
        return each.hints.output ? { grade: 0, order, value: each.hints.output } : { order, value: own(each, 'output') }
      }) ?? null,
    spanCount: spans.length,
    errorCount: spans.filter(({ status }) => status === 'error').length
  }
}

const choice = <T>(...values: T[]) => fc.constantFrom(...values)
const optional = <T>(...values: T[]) => choice(undefined, undefined, ...values)

const randomSpan = (id: number) =>
  fc
    .record({
      start: fc.nat(5),
      length: fc.nat(5),
      level: fc.oneof({ weight: 4, arbitrary: fc.constant(INNER) }, choice<Level>(PROCESS_ROOT, ROOT)),
      parent: fc.nat(8),
      kind: choice('llm', 'embedding', 'agent', 'tool'),
      status: choice('ok', 'error', 'unset'),
      model: choice(null, 'm1', 'm2'),
      provider: choice(null, 'p1', 'p2'),
      input: choice(null, '"in 1"', '"in 2"'),
      output: choice(null, '"out 1"', '"out 2"'),
      inputTokens: choice(null, 1, 2, 3),
      name: optional('said'),
      saidInput: optional('"said 1"', '"said 2"'),
      sessionId: optional('s1', 's2'),
      userId: optional('u1', 'u2'),
      tags: fc.subarray(['a', 'b', 'c']),
      metadata: fc.dictionary(choice('k', 'l', '__proto__'), choice('1', '{"x":2}'), { noNullPrototype: true })
    })
    .map(({ start, length, level, parent, name, saidInput, sessionId, userId, tags, metadata, ...over }) => {
      const hints = { level, name, input: saidInput, sessionId, userId, tags, metadata }
      return span(id, start, start + length, { ...over, parentId: level === ROOT ? null : idOf(parent), hints })
    })

/**
 * Exports of up to eight spans: in any order, split anywhere, some repeated, some with a different span of the same id.
 */
const histories = fc
  .tuple(...Array.from({ length: 8 }, (_, id) => fc.option(randomSpan(id), { nil: undefined })))
  .map(list => list.filter(each => each !== undefined))
  .filter(list => list.length > 0)
  .chain(spans =>
    fc.record({
      spans: fc.constant(spans),
      order: fc.shuffledSubarray(spans, { minLength: spans.length }),
      again: fc.array(fc.tuple(fc.nat(20), choice(...spans))),
      others: fc.array(fc.tuple(fc.nat(20), choice(...spans), fc.string())),
      cuts: fc.array(fc.nat(20))
    })
  )

t.test('a trace depends only on its spans, not on their order or portions', async () => {
  fc.assert(
    fc.property(histories, ({ spans, order, again, others, cuts }) => {
      const sent = [...order]
      for (const [place, each] of again) sent.splice(place, 0, each)
      const store = new Store()
      let rest = sent
      for (const cut of cuts.toSorted((a, b) => a - b)) {
        store.export(rest.slice(0, cut))
        rest = rest.slice(cut)
      }
      store.export(rest)
      // The sums and `isRun` have their own models (test/lib/trace/span-usage.test.ts and runs.test.ts).
      const { isRun, costUsd, inputTokens, outputTokens, totalTokens, ...fields } = store.trace
      const { documentBytes, estimatedBytes, bodyHash, patched, ...trace } = fields
      assert.deepEqual(trace, meaning(spans))

      const whole = exported(spans)
      assert.deepEqual({ ...store.trace }, whole.trace, 'the sums too')
      // A different span with a known id changes nothing, and neither does a repeated span.
      for (const [, each, other] of others) {
        const { refusals } = store.export([
          { ...each, hash: hashOf(`other ${other}`), hints: { ...each.hints, level: ROOT } }
        ])
        assert.equal(refusals[0]?.count, 1)
      }
      const decision = store.export(sent)
      assert.deepEqual([decision.growth, decision.added, decision.refusals], [undefined, [], []])
      assert.equal(decision.duplicate, sent.length)
      assert.deepEqual(store.trace, whole.trace)
    }),
    runs(150)
  )
})

t.test('runs until a root arrives, and is extended afterwards', async t => {
  const store = exported([span(2, 1, 2), span(3, 2, 9, { status: 'error' })])
  t.match(store.trace, { name: 'span 2', status: 'running', startedAt: at(1), endedAt: null, errorCount: 1 })
  store.export([span(1, 0, 5, { name: 'root', status: 'ok', hints: { level: ROOT } })])
  t.match(store.trace, { name: 'root', status: 'ok', startedAt: at(0), endedAt: at(9), spanCount: 3 })
  store.export([span(4, 3, 20, { kind: 'llm', inputTokens: 7 })])
  t.match(store.trace, { status: 'ok', endedAt: at(20), spanCount: 4, inputTokens: 7, totalTokens: null })
})

t.test('a span whose parent is in another process acts as the root until that arrives', async t => {
  const store = exported([span(2, 1, 2, { name: 'service', hints: { level: PROCESS_ROOT } })])
  t.match(store.trace, { name: 'service', status: 'unset', endedAt: at(2) })
  store.export([span(1, 0, 3, { name: 'gateway', hints: { level: ROOT } })])
  t.match(store.trace, { name: 'gateway', startedAt: at(0), endedAt: at(3) })
})

t.test('provider and model come from the first model call, or else from the root', async t => {
  const root = span(1, 0, 9, { kind: 'agent', provider: 'langgraph', model: 'asked', hints: { level: ROOT } })
  const step = span(2, 1, 8, { kind: 'chain', provider: 'step', model: 'step' })
  const [first, second] = [3, 4].map(id => span(id, id, 8, { kind: 'llm', provider: `p${id}`, model: `m${id}` }))
  const calls = [second, first] as GatheredSpan[]
  t.match(exported([step], [root]).trace, { provider: 'langgraph', model: 'asked' })
  for (const exports of [
    [[root], calls, [step]],
    [calls, [step, root]]
  ]) {
    t.match(exported(...exports).trace, { provider: 'p3', model: 'm3' })
  }
})

t.test("an inner tool's input and output are not the trace's", async t => {
  const tool = { kind: 'tool', input: '{"city":"Graz"}', output: '"sunny"' }
  const root = span(1, 0, 9, { hints: { level: ROOT } })
  t.match(exported([root, span(2, 1, 8, tool)]).trace, { input: null, output: null })
  const call = span(3, 2, 7, { kind: 'llm', input: '"Sunny?"', output: '"Yes."' })
  t.match(exported([root, span(2, 1, 8, tool)], [call]).trace, { input: '"Sunny?"', output: '"Yes."' })
  for (const level of [ROOT, PROCESS_ROOT] as const) {
    t.match(exported([span(2, 1, 8, { ...tool, hints: { level } })]).trace, { input: tool.input, output: tool.output })
  }
})

t.test('an object in Python notation is the last choice', async t => {
  const printed = { input: '"StartEvent(input=[1])"', output: '"StopEvent(result=Answer(text=\'Yes.\'))"' }
  const root = span(1, 0, 9, { ...printed, hints: { level: ROOT } })
  t.match(exported([root]).trace, printed)
  const call = span(3, 2, 7, { kind: 'llm', input: '"Sunny?"', output: '"Yes."' })
  for (const exports of [[[root, call]], [[call], [root]]]) {
    t.match(exported(...exports).trace, { input: '"Sunny?"', output: '"Yes."' })
  }
})

t.test('counts the usage of model calls once', async t => {
  const call = (id: number, parent: number, over: Given = {}) =>
    span(id, 0, 1, { kind: 'llm', parentId: idOf(parent), inputTokens: 10, outputTokens: 2, costUsd: 0.5, ...over })
  const root = (over: Given) => span(1, 0, 9, { hints: { level: ROOT }, kind: 'agent', ...over })
  const cases: [string, GatheredSpan[], object][] = [
    [
      'a wrapper repeats its calls',
      [root({ inputTokens: 20 }), call(2, 1), call(3, 1)],
      { inputTokens: 20, costUsd: 1 }
    ],
    ['two libraries report one call', [root({}), call(2, 1), call(3, 2)], { inputTokens: 10, outputTokens: 2 }],
    [
      'the outer one states nothing',
      [call(2, 1, { inputTokens: null, outputTokens: null }), call(3, 2)],
      { inputTokens: 10 }
    ],
    ['embeddings count', [call(2, 1), call(3, 1, { kind: 'embedding', outputTokens: null })], { inputTokens: 20 }],
    ['only the root states it', [root({ inputTokens: 5, costUsd: 2 }), span(2, 0, 1)], { inputTokens: 5, costUsd: 2 }],
    ['a tool states it', [span(2, 0, 1, { kind: 'tool', inputTokens: 5 })], { inputTokens: 5, costUsd: null }],
    ['totals are added to sums', [call(2, 1, { totalTokens: 99 }), call(3, 1)], { totalTokens: 111 }],
    [
      'more than a number holds',
      [2, 3].map(id => call(id, 1, { inputTokens: Number.MAX_SAFE_INTEGER })),
      { inputTokens: Number.MAX_SAFE_INTEGER }
    ]
  ]
  for (const [title, spans, expected] of cases) {
    for (const order of [spans, spans.toReversed()])
      t.match(exported(...order.map(each => [each])).trace, expected, title)
  }
})

t.test('omits values from the trace that do not fit its document', async t => {
  const big = JSON.stringify('x'.repeat(500_000))
  const inner = span(2, 1, 2, { input: big })
  const root = span(1, 0, 9, { output: big, hints: { level: ROOT } })
  const store = exported([inner], [root])
  t.equal(store.input, big)
  t.equal(store.output, null)
  t.ok(store.trace.documentBytes <= MAX_DOCUMENT_BYTES)
  const rooted = exported([
    span(1, 0, 9, { input: '1', metadata: undefined, hints: { level: ROOT, metadata: { k: big, l: big } } } as Given)
  ])
  t.strictSame(rooted.trace.metadata, {})
})

t.test('if input and output do not fit together, one is kept, whichever arrived first', async t => {
  const text = (length: number) => JSON.stringify('x'.repeat(length))
  const [most, huge] = [text(500_000), text(MAX_DOCUMENT_BYTES)]
  const cases: [string, string, string | null, string | null][] = [
    [most, most, most, null],
    [huge, most, null, most],
    [most, huge, most, null],
    [huge, '"out"', null, '"out"'],
    [huge, huge, null, null]
  ]
  for (const [input, output, inputLeft, outputLeft] of cases) {
    const inner = span(2, 1, 2, { input })
    const root = span(1, 0, 9, { output, hints: { level: ROOT, metadata: { k: '1' } } })
    for (const store of [exported([inner], [root]), exported([root], [inner]), exported([root, inner])]) {
      t.ok(store.input === inputLeft && store.output === outputLeft, `${input.length} and ${output.length}`)
      t.strictSame(store.trace.metadata, { k: 1 })
      t.ok(store.trace.documentBytes <= MAX_DOCUMENT_BYTES)
    }
  }
  const before = [span(2, 1, 2, { input: '"in"', output: '"out"' })]
  const kept = exported(before, [span(1, 0, 9, { hints: { level: ROOT, metadata: { k: huge } } })])
  t.match(kept, { input: '"in"', output: '"out"' }, 'metadata that does not fit displaces nothing')
  t.strictSame(kept.trace.metadata, {})
})

t.test('a patched metadata key is preserved', async t => {
  const store = exported([span(2, 1, 2, { hints: { metadata: { tier: '"silver"' } } })])
  store.state = {
    ...(store.state as ExportState),
    gathered: { ...store.gathered, metadata: '{"tier":"patched"}', patched: true }
  }
  store.export([span(1, 0, 9, { hints: { level: ROOT, metadata: { tier: '"gold"', team: '"ops"' } } })])
  t.strictSame(store.trace.metadata, { tier: 'patched', team: 'ops' })
})

t.test('metadata is merged into an empty object as into a stored one', async () => {
  const key = fc.oneof(fc.string(), fc.constantFrom('1', '02', '__proto__', '"1":'))
  const text = fc
    .dictionary(key, fc.jsonValue({ depthSize: 'small' }), { noNullPrototype: true })
    .map(value => JSON.stringify(value))
  const nested = fc
    .tuple(fc.constantFrom('"1":', '"b":', '"\\"2\\"":'), text)
    .map(([key, text]) => `{"b2":{"a":0,${key}${text}}}`)
  fc.assert(
    fc.property(fc.oneof(text, nested), text =>
      assert.equal(mergedMetadata(null, text), mergeMetadata(null, text).text)
    )
  )
})
