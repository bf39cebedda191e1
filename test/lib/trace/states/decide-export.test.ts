import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { MAX_SPANS } from '../../../../lib/schema/input.ts'
import { decideExport, type ExportState } from '../../../../lib/trace/states/decide-export.ts'
import { type GatheredSpan, ROOT } from '../../../../lib/trace/states/gathered.ts'
import { MOST_LEFT_OUT } from '../../../../lib/trace/states/left-out.ts'
import { KEPT_PLACES } from '../../../../lib/trace/states/span-room.ts'
import { runs } from '../../../torture/orders.ts'
import { at, exported, hashOf, idOf, span, TRACE } from './export-store.ts'

t.test('what is sent again is nothing new, and what differs under an id that is stored is refused', async t => {
  const spans = [span(1, 0, 9, { hints: { level: ROOT } }), span(2, 1, 2)]
  const store = exported(spans)
  t.match(store.export(spans.toReversed()), { growth: undefined, added: [], duplicate: 2, refusals: [] })
  const other = { ...span(2, 1, 2), hash: hashOf('other') }
  const decision = store.export([span(3, 1, 2), other, span(3, 1, 2)])
  t.match(decision, { duplicate: 1, refusals: [{ count: 1, reason: 'conflict' }] })
  t.strictSame(
    [...decision.added].map(({ id }) => id),
    [span(3, 1, 2).id]
  )
  t.equal(store.trace.spanCount, 3)
})

const ROOT_SPAN = span(1, 0, 9, { name: 'root', status: 'ok', hints: { level: ROOT } })

t.test('keeps spans up to the limit, says how many it did not, and keeps a place for the root', async t => {
  const many = Array.from({ length: MAX_SPANS + 50 }, (_, i) => span(i + 10, 1, 2))
  const store = exported(many.slice(0, 150))
  const { added, refusals } = store.export(many)
  t.equal(added.length, MAX_SPANS - KEPT_PLACES - 150)
  t.match(refusals, [{ reason: 'too_many', count: 70, example: new RegExp(`trace ${TRACE}`) }])
  t.match(store.export([ROOT_SPAN]), { added: [{ name: 'root' }], refusals: [] })
  const mark = { spoor: { spansLeftOut: { count: 70, kinds: { custom: 70 } } } }
  t.match(store.trace, { name: 'root', status: 'ok', endedAt: at(9), spanCount: 181, metadata: mark })
  t.match(store.export(many), { added: { length: 19 }, refusals: [{ count: 51 }] }, 'no place is kept any longer')
  t.match(store.trace, { spanCount: MAX_SPANS, metadata: { spoor: { spansLeftOut: { count: 51 } } } })
  t.match(store.export(many), { growth: undefined, refusals: [{ count: 51 }] }, 'and again nothing to write')
})

t.test('a trace that fits is kept whole, with its root in any export', async t => {
  const many = Array.from({ length: MAX_SPANS - 1 }, (_, i) => span(i + 10, 1, 2))
  t.match(exported([...many, ROOT_SPAN]).trace, { spanCount: MAX_SPANS, metadata: {} })
  t.match(exported([ROOT_SPAN], many).trace, { spanCount: MAX_SPANS, metadata: {} })
})

t.test('a root that finds no place all the same completes its trace', async t => {
  const other = span(2, 0, 1, { hints: { level: ROOT } })
  const store = exported([other, ...Array.from({ length: MAX_SPANS }, (_, i) => span(i + 10, 1, 2))])
  const first = span(1, -1, 9, { name: 'root', hints: { level: ROOT, startMicros: -1 } })
  t.match(store.export([first]).refusals, [{ count: 1 }])
  t.match(store.trace, { name: 'root', endedAt: at(9), spanCount: MAX_SPANS })
})

t.test('errors, and agents and models that the root calls, come before other spans', async t => {
  const many = Array.from({ length: 300 }, (_, i) => span(i + 100, 1, 2, { kind: 'tool' }))
  const below = { parentId: ROOT_SPAN.id }
  const needed = [
    span(10, 1, 2, { kind: 'agent', ...below }),
    span(11, 1, 2, { kind: 'llm', ...below }),
    span(12, 1, 2, { status: 'error' })
  ]
  const inner = span(13, 1, 2, { kind: 'llm', parentId: many[0]?.id ?? null })
  for (const [name, store] of [
    ['in one export', exported([...many, inner, ...needed, ROOT_SPAN])],
    ['in later exports', exported(many, [inner], needed, [ROOT_SPAN])],
    ['the root between', exported(many, [ROOT_SPAN], [inner, ...needed])]
  ] as const) {
    t.strictSame(
      [...needed, ROOT_SPAN].filter(({ id }) => !store.spans.has(id)),
      [],
      name
    )
  }
})

t.test('a trace whose spans all found a place in the end says of none that it is left out', async t => {
  const many = Array.from({ length: 196 }, (_, i) => span(i + 10, 1, 2))
  const store = exported(many)
  t.match(store.trace.metadata, { spoor: { spansLeftOut: { count: 16 } } })
  store.export([ROOT_SPAN])
  store.export(many)
  t.match(store.trace, { spanCount: 197, metadata: {} })
  t.notOk(store.trace.metadata.spoor)
})

t.test('what was left out counts in tokens and cost, each call once, however often it comes', async () => {
  const call = (id: number): GatheredSpan =>
    span(id, id, id + 1, { kind: 'llm', inputTokens: id, outputTokens: 1, costUsd: 0.5, parentId: idOf(id % 7) })
  const history = fc.record({
    count: fc.integer({ min: 150, max: 330 }),
    cuts: fc.array(fc.tuple(fc.nat(330), fc.nat(330)), { minLength: 2, maxLength: 5 }),
    rootAt: fc.nat(5)
  })
  fc.assert(
    fc.property(history, ({ count, cuts, rootAt }) => {
      const all = Array.from({ length: count }, (_, i) => call(i + 1000))
      const exports = cuts.map(([from, to]) => all.slice(Math.min(from, to), Math.max(from, to)))
      exports.splice(rootAt, 0, [ROOT_SPAN])
      const store = exported(...exports)
      const sent = new Map(exports.flat().map(span => [span.id, span]))
      const { inputTokens, costUsd, spanCount, metadata, name } = store.trace
      const left = metadata.spoor?.spansLeftOut ?? { count: 0, kinds: {} }
      assert.equal(name, 'root')
      assert.ok(store.spans.has(ROOT_SPAN.id))
      assert.equal(spanCount + left.count, sent.size)
      assert.equal(left.kinds.llm ?? 0, left.count)
      const calls = [...sent.values()].filter(({ kind }) => kind === 'llm')
      const sum = (of: (span: GatheredSpan) => number | null) => calls.reduce((all, span) => all + (of(span) ?? 0), 0)
      assert.equal(
        inputTokens ?? 0,
        sum(span => span.inputTokens)
      )
      assert.equal(
        costUsd ?? 0,
        sum(span => span.costUsd)
      )
    }),
    runs(20)
  )
})

t.test('beyond what a trace can remember, spans are refused and no longer counted', async t => {
  const many = Array.from({ length: MAX_SPANS + MOST_LEFT_OUT + 100 }, (_, i) => span(i + 10, 1, 2))
  const store = exported([ROOT_SPAN, ...many])
  t.match(store.trace.metadata, { spoor: { spansLeftOut: { count: MOST_LEFT_OUT } } })
  t.match(store.export(many), { growth: undefined })
})

t.test('a client that patched `spoor` to something of its own keeps it', async t => {
  const many = Array.from({ length: MAX_SPANS + 50 }, (_, i) => span(i + 10, 1, 2))
  for (const [metadata, expected] of [
    ['{"spoor":7,"a":1}', { spoor: 7, a: 1 }],
    ['{"spoor":{"b":2}}', { spoor: { b: 2, spansLeftOut: { count: 50, kinds: { custom: 50 } } } }]
  ] as const) {
    const store = exported([ROOT_SPAN])
    store.state = { ...(store.state as ExportState), gathered: { ...store.gathered, metadata, patched: true } }
    store.export(many.slice(1))
    t.strictSame(store.trace.metadata, expected)
  }
})

t.test('takes no spans for a trace of another route, or another environment', async t => {
  const spans = [span(1, 0, 1), span(2, 0, 1)]
  const native: ExportState = { gathered: undefined, environment: 'unassigned', spanHashes: new Map() }
  const operation = { operation: 'export' as const, traceId: TRACE, spans, environment: null }
  t.match(decideExport(native, operation), {
    growth: undefined,
    refusals: [{ count: 2, reason: 'other_route' }]
  })
  const store = exported([span(3, 0, 1)])
  t.match(store.export(spans, 'production'), {
    growth: undefined,
    refusals: [{ count: 2, reason: 'other_environment' }]
  })
})
