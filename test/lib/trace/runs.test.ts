import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SPAN_KINDS } from '../../../lib/schema/input.ts'
import type { PreparedSpan } from '../../../lib/trace/prepared.ts'
import { isRun, RUN_KINDS } from '../../../lib/trace/runs.ts'
import { type Decision, decide, type TraceState } from '../../../lib/trace/states/decide.ts'
import { changedState, type KeptState } from '../../../lib/trace/states/state-after.ts'
import { runs } from '../../torture/orders.ts'
import { Store, span as spanOfExport } from './states/export-store.ts'

const AT = '2026-11-21T12:00:00.000Z'
const none = { inputTokens: null, outputTokens: null, totalTokens: null }

t.test('model calls, agents, tools and retrievers make a run; chains and custom spans do not', async t => {
  const fields = { model: null, costUsd: null }
  const makes = (kind: string) => isRun(fields, [{ kind: 'custom' }, { kind }])
  t.same(
    SPAN_KINDS.filter(makes),
    ['llm', 'agent', 'tool', 'retriever', 'embedding', 'reranker'],
    'of the kinds that spans can have'
  )
  t.same([...RUN_KINDS].sort(), SPAN_KINDS.filter(makes).sort())
  t.notOk(isRun(fields, []))
  t.ok(isRun({ ...fields, model: 'm' }, []))
  t.ok(isRun({ ...fields, costUsd: 0 }, []), 'a cost of 0 is a cost')
})

const kind: fc.Arbitrary<string> = fc.constantFrom(...SPAN_KINDS, 'custom', 'chain', 'custom', 'chain')
const spans = (first: number) =>
  fc
    .array(kind, { maxLength: 3 })
    .map(kinds => kinds.map((kind, i) => ({ id: `${first + i}`.padStart(16, '0'), kind })))
const model = fc.option(fc.constant('m'), { nil: undefined, freq: 1 })

const prepared = ({ id, kind }: { id: string; kind: string }): PreparedSpan => ({
  ...{ ...none, id, kind, parentId: null, name: 'n', status: 'unset', startedAt: AT, endedAt: AT, provider: null },
  ...{ model: null, input: null, output: null, attributes: null, events: null, costUsd: null, hash: id, bytes: 10 }
})

const started = (spanHashes: Map<string, string>): KeptState => ({
  ...{ ...none, seq: 1, version: 1, running: true, bodyHash: 'b', endHash: null, environment: 'unassigned', name: 'n' },
  ...{ userId: null, startedAt: AT, provider: null, model: null, costUsd: null, tags: [], spanCount: spanHashes.size },
  ...{ errorCount: 0, documentBytes: 9, estimatedBytes: 9, metadata: null, outputBytes: 4, isGathered: false },
  ...{ gathered: undefined, copy: undefined, spanHashes }
})

const native = fc.record({
  first: spans(0),
  appended: fc.array(fc.nat(9).chain(spans), { maxLength: 4 }),
  end: fc.option(fc.record({ spans: spans(20), model, costUsd: fc.option(fc.constant(0.5), { nil: undefined }) }))
})

t.test('a native trace is a run from the write that makes it one', async () => {
  fc.assert(
    fc.property(native, ({ first, appended, end }) => {
      const held = new Map(first.map(({ id, kind }) => [id, kind]))
      let bit = isRun({ model: null, costUsd: null }, first)
      let state = started(new Map(first.map(({ id }) => [id, id])))
      const take = (decision: Decision) => {
        if (decision.type !== 'change') return
        bit ||= decision.change.isRun
        for (const { id, kind } of decision.change.spans) held.set(id, kind)
        state = changedState(state, decision.change, state.version + 1)
      }
      const agrees = (fields: Pick<TraceState, 'model' | 'costUsd'>) =>
        assert.equal(
          bit,
          isRun(
            fields,
            [...held.values()].map(kind => ({ kind }))
          )
        )
      for (const list of appended) {
        take(decide(state, { operation: 'append', spans: list.map(prepared), environment: null }))
        agrees(state)
      }
      if (end === null) return
      const rest = { output: undefined, usage: undefined, metadata: undefined, provider: undefined, tags: [] }
      const { model, costUsd } = end
      const ended = { endedAt: AT, status: 'ok', hash: 'e', model, costUsd, spans: end.spans.map(prepared), ...rest }
      take(decide(state, { operation: 'end', environment: null, ...ended }))
      agrees({ model: model ?? null, costUsd: costUsd ?? null })
    }),
    runs(200)
  )
})

t.test('a gathered trace is a run if its spans make it one, in any order and portions', async () => {
  const exported = fc.uniqueArray(fc.record({ id: fc.nat(20), kind, model: fc.constantFrom(null, null, null, 'm') }), {
    selector: ({ id }) => id,
    maxLength: 8
  })
  fc.assert(
    fc.property(
      exported.chain(all => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      fc.integer({ min: 1, max: 4 }),
      ([sent, shuffled], portion) => {
        const bits = [sent, shuffled].map(order => {
          const store = new Store()
          for (let i = 0; i < order.length; i += portion) {
            const some = order.slice(i, i + portion)
            store.export(some.map(({ id, ...rest }) => spanOfExport(id, id, id + 1, rest)))
            const fields = { model: store.gathered.model, costUsd: store.gathered.costUsd }
            assert.equal(store.isRun, isRun(fields, store.spans.values()))
          }
          return store.isRun
        })
        assert.equal(bits[0], bits[1])
      }
    ),
    runs(200)
  )
})
