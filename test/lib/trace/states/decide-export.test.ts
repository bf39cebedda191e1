import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { decideExport, type ExportState } from '../../../../lib/trace/states/decide-export.ts'
import { type GatheredSpan, gatheredUsage, INNER, PROCESS_ROOT, ROOT } from '../../../../lib/trace/states/gathered.ts'
import { keptPlaces } from '../../../../lib/trace/states/kept-spans.ts'
import { FAILED, MOST_LEFT_OUT, ranksOfLeftOut } from '../../../../lib/trace/states/left-out.ts'
import type { Rank } from '../../../../lib/trace/states/ranks.ts'
import { explainRefusals } from '../../../../lib/trace/states/span-refusals.ts'
import { runs } from '../../../torture/orders.ts'
import { at, exported, hashOf, idOf, MAX_BYTES, MAX_SPANS, Store, span, TRACE } from './export-store.ts'

t.test('a resend adds nothing, and different content under a stored id is rejected', async t => {
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

const KEPT_PLACES = keptPlaces(MAX_SPANS)
const ROOT_SPAN = span(1, 0, 9, { name: 'root', status: 'ok', hints: { level: ROOT } })
const plain = (count: number) => Array.from({ length: count }, (_, i) => span(i + 10, 1, 2))

t.test('keeps spans up to the limit, counts the others, and reserves slots for the most important', async t => {
  const many = plain(MAX_SPANS + 50)
  const store = exported(many.slice(0, 150))
  const { added, refusals } = store.export(many)
  t.equal(added.length, MAX_SPANS - KEPT_PLACES - 150)
  t.match(refusals, [{ reason: 'too_many', count: 70, example: new RegExp(`trace ${TRACE}`) }])
  t.match(explainRefusals(refusals), /beyond OTLP_MAX_SPANS, whose last 10% is reserved for roots/)
  t.match(store.export([ROOT_SPAN]), { added: [{ name: 'root' }], refusals: [] })
  const mark = { spoor: { spansLeftOut: { count: 70, kinds: { custom: 70 } } } }
  t.match(store.trace, { name: 'root', status: 'ok', endedAt: at(9), spanCount: 181, metadata: mark })
  t.match(store.export(many), { growth: undefined, added: [], refusals: [{ count: 70 }] }, 'even after the root')
  const failed = Array.from({ length: 30 }, (_, i) => span(i + 1000, 1, 2, { status: 'error' }))
  t.match(store.export(failed), { added: { length: 19 }, refusals: [{ count: 11 }] })
  t.match(store.trace, { spanCount: MAX_SPANS, errorCount: 30, metadata: { spoor: { spansLeftOut: { count: 81 } } } })
  t.match(
    store.export([...many, ...failed]),
    { growth: undefined, refusals: [{ count: 81 }] },
    'a resend contains nothing new'
  )
})

t.test('plain steps get the same slots before the root, with it and after it', async t => {
  const many = plain(MAX_SPANS - 1)
  const limit = MAX_SPANS - KEPT_PLACES
  t.match(exported([...many, ROOT_SPAN]).trace, { spanCount: limit })
  t.match(exported([ROOT_SPAN], many).trace, { spanCount: limit })
  t.match(exported(many, [ROOT_SPAN]).trace, { spanCount: limit + 1 })
  const fitting = many.slice(0, limit - 1)
  for (const store of [
    exported([...fitting, ROOT_SPAN]),
    exported([ROOT_SPAN], fitting),
    exported(fitting, [ROOT_SPAN])
  ])
    t.match(store.trace, { spanCount: limit, metadata: {} }, 'a trace that fits is kept completely')
})

t.test('the last slot is for the root, which completes its trace even without a slot', async t => {
  const failed = Array.from({ length: MAX_SPANS }, (_, i) => span(i + 10, 1, 2, { status: 'error' }))
  const store = exported(failed)
  t.equal(store.spans.size, MAX_SPANS - 1)
  store.export([ROOT_SPAN])
  t.ok(store.spans.has(ROOT_SPAN.id))
  const first = span(2, -1, 9, { name: 'first', hints: { level: ROOT, startMicros: -1 } })
  t.match(store.export([first]).refusals, [{ count: 1 }])
  t.match(store.trace, { name: 'first', endedAt: at(9), spanCount: MAX_SPANS, errorCount: MAX_SPANS })
})

t.test('errors, agents and model calls precede plain steps at any depth', async t => {
  const many = Array.from({ length: 300 }, (_, i) => span(i + 100, 1, 2))
  const needed = [
    span(10, 1, 2, { kind: 'agent', parentId: ROOT_SPAN.id }),
    span(11, 1, 2, { kind: 'llm', parentId: idOf(10) }),
    span(12, 1, 2, { status: 'error', parentId: idOf(11) }),
    span(13, 1, 2, { kind: 'llm', parentId: many[299]!.id }),
    ROOT_SPAN
  ]
  for (const [name, store] of [
    ['in one export', exported([...many, ...needed])],
    ['in later exports', exported(many, ...needed.map(each => [each]))],
    ['the root first', exported([ROOT_SPAN], many, needed)],
    ['the root in the middle', exported(many, [ROOT_SPAN], needed)]
  ] as const) {
    t.strictSame(
      needed.filter(({ id }) => !store.spans.has(id)),
      [],
      name
    )
  }
})

t.test('the reviewed runs keep every call and every failure', async t => {
  const kindOf = (i: number) => (i % 7 === 0 && i < 266 ? { kind: 'llm' } : i % 50 === 1 ? { status: 'error' } : {})
  const children = Array.from({ length: 270 }, (_, i) => span(i + 100, 1, 2, { ...kindOf(i), parentId: idOf(2) }))
  const agent = span(2, 0, 9, { kind: 'agent', parentId: ROOT_SPAN.id })
  const needed = children.filter(({ kind, status }) => kind === 'llm' || status === 'error')
  t.ok(needed.length >= 43)
  const batches = (spans: GatheredSpan[]) => Array.from({ length: 5 }, (_, i) => spans.slice(i * 64, i * 64 + 64))
  for (const [name, store] of [
    ['one export', exported([ROOT_SPAN, agent, ...children])],
    ['one export, backwards', exported([...children.toReversed(), agent, ROOT_SPAN])],
    ['the root first, in batches', exported(...batches([ROOT_SPAN, agent, ...children]))],
    ['the children first, in batches', exported(...batches([...children, agent, ROOT_SPAN]))]
  ] as const) {
    const kept = needed.filter(({ id }) => store.spans.has(id))
    t.equal(kept.length, needed.length, name)
    t.equal(store.trace.errorCount, needed.filter(({ status }) => status === 'error').length)
  }
})

t.test('a span that an older version left out can get a slot, and counts once', async t => {
  const store = exported([ROOT_SPAN, ...plain(10)])
  const call = span(500, 1, 2, { kind: 'llm', status: 'error', inputTokens: 7 })
  const old = exported(
    Array.from({ length: MAX_SPANS }, (_, i) => span(i + 1000, 1, 2, { kind: 'llm' })),
    [call]
  )
  const name = `leftOut.${call.id}`
  const rank = old.gathered.ranks[name]!
  t.equal(rank[0], FAILED)
  const asOld: Rank = [0, rank[1], rank[2]]
  const ranks = { ...store.gathered.ranks, [name]: asOld }
  store.state = { ...(store.state as ExportState), gathered: { ...store.gathered, ranks } }
  store.export([span(501, 1, 2)])
  const mark = { spoor: { spansLeftOut: { count: 1, kinds: { llm: 1 } } } }
  t.match(store.trace, { inputTokens: 7, errorCount: 0, metadata: mark }, 'the remembered data is readable')
  t.strictSame(ranksOfLeftOut(ranks, [gatheredUsage(call)]), { [name]: rank }, 'a resend shows that it failed')
  t.strictSame(ranksOfLeftOut({ [name]: rank }, [gatheredUsage(call), { ...gatheredUsage(call), failed: false }]), {})
  store.export([call])
  t.match(store.trace, { inputTokens: 7, errorCount: 1, spanCount: 13, metadata: {} })
  t.notOk(store.trace.metadata.spoor)
})

t.test('counts are derived from the spans, whatever number was stored', async t => {
  const store = exported([ROOT_SPAN, ...plain(10)])
  const wrong = { ...store.gathered, spanCount: MAX_SPANS, errorCount: 5 }
  store.state = { ...(store.state as ExportState), gathered: wrong }
  store.export([span(500, 1, 2, { status: 'error' })])
  t.match(store.trace, { spanCount: 12, errorCount: 1 })
})

t.test('any exports, in any order and resent, give slots according to the rules, and one trace', async () => {
  // A second implementation of the rules, which applies one export after another.
  const placesOf = (exports: readonly (readonly GatheredSpan[])[]) => {
    const stored = new Map<string, GatheredSpan>()
    const isRoot = ({ hints }: GatheredSpan) => hints.level === ROOT
    const isFailed = ({ status, hints }: GatheredSpan) => status === 'error' || hints.level === PROCESS_ROOT
    let hasRoot = false
    for (const spans of exports) {
      const fresh = [...new Map(spans.filter(({ id }) => !stored.has(id)).map(each => [each.id, each])).values()]
      hasRoot ||= fresh.some(isRoot)
      const called = (each: GatheredSpan) => ['llm', 'agent', 'tool'].includes(each.kind)
      const groups = [isRoot, isFailed, called, () => true]
      groups.forEach((isOf, rank) => {
        const most = rank === 3 ? 180 : rank > 0 && !hasRoot ? 199 : 200
        for (const each of fresh)
          if (isOf(each) && !stored.has(each.id) && stored.size < most) stored.set(each.id, each)
      })
    }
    return stored
  }
  const kinds = fc.constantFrom('custom', 'custom', 'custom', 'tool', 'llm', 'agent')
  const spanOf = fc.record({
    kind: kinds,
    failed: fc.nat(15).map(n => n === 0),
    level: fc.nat(60).map(n => (n === 0 ? PROCESS_ROOT : INNER)),
    start: fc.nat(5),
    inputTokens: fc.constantFrom(null, 1, 2),
    sessionId: fc.constantFrom(undefined, undefined, 's1', 's2'),
    model: fc.constantFrom(null, 'm1', 'm2'),
    output: fc.constantFrom(null, '"a"', '"b"')
  })
  const history = fc.record({
    spans: fc.array(spanOf, { minLength: 150, maxLength: 500, size: 'max' }),
    cuts: fc.array(fc.tuple(fc.nat(500), fc.nat(500)), { minLength: 1, maxLength: 5 }),
    rootAt: fc.nat(6),
    order: fc.array(fc.nat(), { minLength: 8, maxLength: 8 })
  })
  fc.assert(
    fc.property(history, ({ spans, cuts, rootAt, order }) => {
      const all = spans.map(({ failed, level, sessionId, start, ...over }, i) =>
        span(i + 1000, start, start + 1, { ...over, status: failed ? 'error' : 'unset', hints: { level, sessionId } })
      )
      const exports = [all, ...cuts.map(([from, to]) => all.slice(Math.min(from, to), Math.max(from, to)))]
      if (rootAt < 6) exports.splice(rootAt, 0, [ROOT_SPAN])
      const shuffled = exports.toSorted((a, b) => order[exports.indexOf(a)]! - order[exports.indexOf(b)]!)
      const [one, other] = [exports, shuffled].map(list => {
        const store = exported(...list)
        assert.deepEqual([...store.spans.keys()].sort(), [...placesOf(list).keys()].sort())
        const before = store.trace
        for (const each of list.toReversed()) {
          const { growth, added } = store.export(each)
          assert.deepEqual([growth, added], [undefined, []])
        }
        const { spanCount, metadata, bodyHash, documentBytes, estimatedBytes, ...trace } = store.trace
        assert.deepEqual(store.trace, before)
        assert.equal(spanCount, store.spans.size)
        assert.equal(spanCount + (metadata.spoor?.spansLeftOut?.count ?? 0), new Set(list.flat()).size)
        return trace
      })
      assert.deepEqual(one, other, 'what is left out says of the trace what it would say in a place')
      assert.equal(one!.errorCount, all.filter(({ status }) => status === 'error').length)
    }),
    // Shrinking a counterexample with this many spans would take minutes.
    { ...runs(15), endOnFailure: true }
  )
})

t.test('spans without a slot count in tokens and cost, each call once, however often it arrives', async () => {
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

t.test('beyond the spans that a trace can remember, spans are rejected and no longer counted', async t => {
  const many = Array.from({ length: MAX_SPANS + MOST_LEFT_OUT + 100 }, (_, i) => span(i + 10, 1, 2))
  const store = exported([ROOT_SPAN, ...many])
  t.match(store.trace.metadata, { spoor: { spansLeftOut: { count: MOST_LEFT_OUT } } })
  t.match(store.export(many), { growth: undefined })
})

t.test('a client that patched `spoor` to its own value keeps it', async t => {
  const many = Array.from({ length: MAX_SPANS + 50 }, (_, i) => span(i + 10, 1, 2))
  for (const [metadata, expected] of [
    ['{"spoor":7,"a":1}', { spoor: 7, a: 1 }],
    ['{"spoor":{"b":2}}', { spoor: { b: 2, spansLeftOut: { count: 70, kinds: { custom: 70 } } } }]
  ] as const) {
    const store = exported([ROOT_SPAN])
    store.state = { ...(store.state as ExportState), gathered: { ...store.gathered, metadata, patched: true } }
    store.export(many.slice(1))
    t.strictSame(store.trace.metadata, expected)
  }
})

t.test('accepts no spans for a trace of another route or environment', async t => {
  const spans = [span(1, 0, 1), span(2, 0, 1)]
  const native: ExportState = { gathered: undefined, environment: 'unassigned', spanHashes: new Map() }
  const operation = {
    operation: 'export' as const,
    traceId: TRACE,
    spans,
    environment: null,
    maxSpans: MAX_SPANS,
    maxBytes: MAX_BYTES
  }
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

t.test("beyond a trace's bytes, further spans' texts are cut, and the sums count what is stored", t => {
  const large = (id: number) => span(id, id, id + 1, { bytes: 1000, cutBytes: 300, input: `"${id}"` })
  const store = new Store(5000)
  t.equal(store.export([large(1), large(2)]).cut.size, 0)
  const before = store.gathered.estimatedBytes
  const small = span(6, 6, 7, { bytes: 100, cutBytes: 120 })
  const { added, cut, growth } = store.export([large(3), large(4), large(5), small])
  t.same(
    [...cut].map(({ id }) => id),
    [idOf(5)],
    'a cut that would save nothing is not made'
  )
  t.equal(added.length, 4, 'the steps are kept')
  const documents = store.gathered.documentBytes
  t.equal(growth?.estimatedBytes, documents + 4 * 1000 + 300 + 100)
  t.equal(growth?.addedBytes, store.gathered.estimatedBytes - before)
  t.same(store.export([large(5)]), { ...store.export([large(5)]), duplicate: 1 }, 'a resend is a duplicate')
  t.end()
})

t.test('beyond its bytes, a stored trace grows only by cut spans, in any portions', t => {
  const arbitrary = fc.array(fc.array(fc.integer({ min: 310, max: 3000 }), { minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 6
  })
  fc.assert(
    fc.property(arbitrary, exports => {
      const store = new Store(6000)
      let id = 0
      let wanted = 0
      for (const sizes of exports) {
        const isFirst = store.state === undefined
        const left = 6000 - (isFirst ? 0 : store.gathered.estimatedBytes)
        const { cut, added, growth } = store.export(
          sizes.map(bytes => span(++id, id, id + 1, { bytes, cutBytes: 300 }))
        )
        for (const each of added) wanted += cut.has(each) ? 300 : each.bytes
        t.equal(growth?.estimatedBytes, store.gathered.documentBytes + wanted)
        const whole = added.filter(each => !cut.has(each)).reduce((sum, { bytes }) => sum + bytes, 0)
        t.ok(isFirst || whole <= Math.max(0, left))
      }
    })
  )
  t.end()
})
