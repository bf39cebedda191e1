import t from 'tap'
import { MAX_DOCUMENT_BYTES, MAX_SPANS } from '../../../../lib/schema/input.ts'
import { decideExport, type ExportState } from '../../../../lib/trace/states/decide-export.ts'
import { ROOT } from '../../../../lib/trace/states/gathered.ts'
import { at, exported, hashOf, span, TRACE } from './export-store.ts'

t.test('what is sent again is nothing new, and what differs under an id that is stored is refused', async t => {
  const spans = [span(1, 0, 9, { hints: { level: ROOT } }), span(2, 1, 2)]
  const store = exported(spans)
  t.match(store.export(spans.toReversed()), { growth: undefined, added: [], duplicate: 2, refusals: [] })
  const other = { ...span(2, 1, 2), hash: hashOf('other') }
  const decision = store.export([span(3, 1, 2), other, span(3, 1, 2)])
  t.match(decision, { duplicate: 1, refusals: [{ count: 1, reason: /stored with different content/ }] })
  t.strictSame(
    [...decision.added].map(({ id }) => id),
    [span(3, 1, 2).id]
  )
  t.equal(store.trace.spanCount, 3)
})

t.test('keeps spans up to the limit, says how many it did not, and is complete all the same', async t => {
  const many = Array.from({ length: MAX_SPANS + 50 }, (_, i) => span(i + 10, 1, 2))
  const store = exported(many.slice(0, 150))
  const { added, refusals } = store.export(many)
  t.equal(added.length, 50)
  t.match(refusals, [{ reason: /beyond the 200/, count: 50, example: new RegExp(`trace ${TRACE}`) }])
  const root = span(1, 0, 9, { name: 'root', status: 'ok', hints: { level: ROOT } })
  t.match(store.export([root]).refusals, [{ count: 1 }])
  t.match(store.trace, { name: 'root', status: 'ok', endedAt: at(9), spanCount: MAX_SPANS })
  t.match(store.export([root]), { growth: undefined, refusals: [{ count: 1 }] }, 'and again nothing to write')
})

t.test('refuses a span that is too large; as a root it completes its trace', async t => {
  const large = { bytes: MAX_DOCUMENT_BYTES + 1, input: `"${'x'.repeat(MAX_DOCUMENT_BYTES)}"` }
  const store = exported([span(2, 1, 2)])
  t.match(store.export([span(3, 1, 2, large)]), {
    growth: undefined,
    refusals: [{ reason: /of more than 768000 bytes/ }]
  })
  store.export([span(1, 0, 9, { ...large, name: 'root', hints: { level: ROOT } })])
  t.match(store.trace, { name: 'root', endedAt: at(9), spanCount: 1, input: null })
  t.match(exported([span(1, 0, 9, { ...large, name: 'alone', hints: { level: ROOT } })]).trace, {
    name: 'alone',
    spanCount: 0
  })
})

t.test('takes no spans for a trace of another route, or another environment', async t => {
  const spans = [span(1, 0, 1), span(2, 0, 1)]
  const native: ExportState = { gathered: undefined, environment: 'unassigned', spanHashes: new Map() }
  const operation = { operation: 'export' as const, traceId: TRACE, spans, environment: null }
  t.match(decideExport(native, operation), {
    growth: undefined,
    refusals: [{ count: 2, reason: /not recorded by Open/ }]
  })
  const store = exported([span(3, 0, 1)])
  t.match(store.export(spans, 'production'), {
    growth: undefined,
    refusals: [{ count: 2, reason: /another environment/ }]
  })
})
