import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { decide, type TraceState } from '../../../../lib/trace/states/decide.ts'
import { type GatheredSpan, PROCESS_ROOT, ROOT } from '../../../../lib/trace/states/gathered.ts'
import { endOf, isEndText } from '../../../../lib/trace/states/idle.ts'
import { runs } from '../../../torture/orders.ts'
import { at, exported, idOf, span, TRACE } from './export-store.ts'

t.test('the status is that of the spans whose parents are missing, and the end is the latest', async t => {
  const top = (id: number, end: number, status: string) => span(id, 0, end, { status })
  const below = (id: number, end: number, status: string) => span(id, 0, end, { status, parentId: idOf(1) })
  for (const [spans, expected] of [
    [[top(1, 4, 'ok'), below(2, 3, 'error')], { status: 'ok', endedAt: at(4) }],
    [[top(1, 4, 'unset'), below(2, 6, 'error')], { status: 'unset', endedAt: at(6) }],
    [[top(1, 4, 'ok'), top(3, 2, 'error')], { status: 'error', endedAt: at(4) }],
    [[top(1, 4, 'unset'), top(3, 2, 'ok')], { status: 'ok', endedAt: at(4) }],
    [[below(2, 3, 'error')], { status: 'error', endedAt: at(3) }]
  ] as const) {
    t.same(endOf(spans), expected)
    t.same(endOf(spans.toReversed()), expected)
  }
})

t.test('a completed trace continues when a span arrives, and its root completes it as usual', async t => {
  const store = exported([span(2, 1, 2, { status: 'ok' }), span(3, 2, 5, { status: 'error', parentId: idOf(2) })])
  t.match(store.trace, { status: 'running', endedAt: null })
  store.complete()
  t.match(store.trace, { status: 'ok', startedAt: at(1), endedAt: at(5), metadata: { spoor: { completed: 'idle' } } })
  store.export([span(2, 1, 2, { status: 'ok' })])
  t.match(store.trace, { status: 'ok' }, 'a resend changes nothing')
  store.export([span(4, 3, 4)])
  t.match(store.trace, { status: 'running', endedAt: null })
  t.same(store.trace.metadata, {})
  store.complete()
  t.match(store.trace, { status: 'ok', spanCount: 3, metadata: { spoor: { completed: 'idle' } } })
  store.export([span(1, 0, 9, { hints: { level: ROOT } })])
  t.match(store.trace, { status: 'unset', startedAt: at(0), endedAt: at(9), spanCount: 4 })
  t.same(store.trace.metadata, {})
})

t.test('whenever a trace is completed, its final state depends only on its spans', async () => {
  const anySpan = fc
    .record({
      id: fc.integer({ min: 1, max: 6 }),
      status: fc.constantFrom('ok', 'error', 'unset'),
      level: fc.constantFrom(undefined, undefined, undefined, ROOT, PROCESS_ROOT),
      metadata: fc.constantFrom({}, { a: '1' }, { spoor: '{"b":2}' }),
      parent: fc.nat(6)
    })
    .map(({ id, status, level, metadata, parent }) =>
      span(id, id, id + 5, { status, parentId: idOf(parent), hints: { metadata, ...(level && { level }) } })
    )
  const exports = fc.array(fc.uniqueArray(anySpan, { selector: ({ id }) => id }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(exports, fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }), (sent, completions) => {
      const store = exported()
      for (const [i, spans] of sent.entries()) {
        store.export(spans)
        if (completions[i] && store.state !== undefined && store.trace.endedAt === null) store.complete()
      }
      if (store.state === undefined) return
      const uninterrupted = exported(...sent)
      const isOpen = uninterrupted.trace.endedAt === null
      if (isOpen) {
        if (store.trace.endedAt === null) store.complete()
        uninterrupted.complete()
      }
      assert.deepEqual(store.trace, uninterrupted.trace)
      assert.equal(store.trace.metadata.spoor?.completed, isOpen ? 'idle' : undefined)
    }),
    runs(150)
  )
})

t.test('a trace that has changed, has ended, was deleted or is not from OpenTelemetry is left unchanged', async t => {
  const { gathered } = exported([span(2, 1, 2)] as GatheredSpan[])
  const state = { gathered, running: true, version: 7, spanCount: 1 } as unknown as TraceState
  const operation = { operation: 'idle' as const, traceId: TRACE, version: 7, end: { status: 'ok', endedAt: at(2) } }
  t.match(decide(state, operation), { type: 'grow', growth: { status: 'ok', endedAt: at(2), durationMs: 1000 } })
  for (const other of [
    undefined,
    { ...state, version: 8 },
    { ...state, running: false },
    { ...state, gathered: undefined }
  ]) {
    t.match(decide(other, operation), { type: 'duplicate' })
  }
})

t.test('recognises the text of an end', async t => {
  t.ok(isEndText(JSON.stringify(['ok', at(1)])))
  for (const text of [
    '',
    '7',
    '[]',
    '["ok"]',
    '["running","2026-11-21T12:00:00.000Z"]',
    '["ok","today"]',
    '["ok",1]'
  ]) {
    t.notOk(isEndText(text), text)
  }
})
