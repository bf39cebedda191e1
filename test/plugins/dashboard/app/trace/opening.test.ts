import fc from 'fast-check'
import t from 'tap'
import { growTree, visibleRows } from '../../../../../plugins/dashboard/app/content/span-tree.ts'
import type { Outline, OutlineSpan } from '../../../../../plugins/dashboard/app/contract.ts'
import {
  faultsOf,
  foldedAtFirst,
  nextFailure,
  openingRow,
  silenceOf,
  soleRoot
} from '../../../../../plugins/dashboard/app/trace/opening.ts'
import { outlineSpan as span, timeAfter } from './spans.ts'

const trace = (over: object = {}) => ({ status: 'ok', inputBytes: 0, outputBytes: 0, ...over }) as Outline['trace']
const failed = { status: 'error' } as const

t.test('a single root represents the trace', async t => {
  t.equal(soleRoot(growTree([span('a'), span('b', 'a')]))?.id, 'a')
  t.equal(soleRoot(growTree([span('a'), span('b', 'gone')]))?.id, 'a', 'even beside spans without a parent')
  t.equal(soleRoot(growTree([span('a'), span('b')])), undefined)
  t.equal(soleRoot(growTree([span('b', 'gone')])), undefined)
  t.equal(soleRoot([]), undefined)
})

t.test('the page opens at a failure, or else at a row with content', async t => {
  const opens = (spans: OutlineSpan[], over: object = {}) => openingRow(growTree(spans), trace(over))
  const texts = { inputBytes: 5 }
  t.equal(opens([span('a', null, texts), span('b', 'a', failed)], failed), 'b')
  t.equal(opens([span('a'), span('b', 'a', texts)]), 'b', 'the first span with a text')
  t.equal(opens([span('a'), span('b', 'a', texts)], { outputBytes: 2 }), 'a', 'the root, if the trace has a text')
  t.equal(opens([span('a'), span('b', null, texts)], { outputBytes: 2 }), 'trace', 'the trace, if it has several roots')
  t.equal(opens([span('a', null, texts)], failed), 'a', 'a failed trace without a failed step')
  t.equal(opens([span('a'), span('b', 'a')]), 'a', 'nothing has a text')
  t.equal(opens([]), 'trace')
})

t.test('an invalid address is explained', async t => {
  const said = (query: string) => faultsOf(new URLSearchParams(query), key => key === 'abc')
  t.same(said('span=ABC&tab=json&view=turns&q=x'), [])
  t.same(said('span=x'), ['This trace has no span x.'])
  t.match(said('words=x&words=y&tab=z&view=list'), [
    /no tab “z”/,
    /no view “list”/,
    /^This page has no parameter “words”/
  ])
  t.equal(said('words=x&words=y').length, 1)
})

t.test('a long trace is collapsed below its root', async t => {
  const spans = [
    span('root'),
    ...Array.from({ length: 150 }, (_, i) => [span(`p${i}`, 'root'), span(`c${i}`, `p${i}`)])
  ].flat()
  const roots = growTree(spans)
  t.equal(visibleRows(roots, new Set(foldedAtFirst(roots, spans.length))).length, 151)
  t.same(foldedAtFirst(roots, 300), [], 'a shorter one is expanded')
})

t.test('failures are visited in tree order, wrapping around', async t => {
  const spans = [span('a', null, failed), span('b'), span('c', 'b', failed), span('d', 'b')]
  const rows = visibleRows(growTree(spans), new Set())
  t.equal(nextFailure(rows, 'a', 1), 'c')
  t.equal(nextFailure(rows, 'd', 1), 'a')
  t.equal(nextFailure(rows, 'd', -1), 'c')
  t.equal(nextFailure(rows, 'a', -1), 'c')
  t.equal(nextFailure(rows, 'trace', 1), 'a')
  const within = visibleRows(growTree([span('a', null, failed), span('b', 'a', failed)]), new Set())
  t.equal(nextFailure(within, 'b', 1), 'b', 'a span with a failed child is skipped')
  t.equal(nextFailure(visibleRows(growTree([span('a')]), new Set()), 'a', 1), undefined)
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 12 }), fc.nat(11), (fails, from) => {
      const list = fails.map((isFailed, i) => span(`s${i}`, null, isFailed ? failed : {}))
      const all = visibleRows(growTree(list), new Set())
      const next = nextFailure(all, `s${from}`, 1)
      return fails.some(Boolean) ? fails[Number(next?.slice(1))] === true : next === undefined
    })
  )
})

t.test('a running trace without a new step for ten minutes is silent', async t => {
  const now = (ms: number) => Date.parse(timeAfter(ms))
  const running = { ...trace({ status: 'running' }), startedAt: timeAfter(0) }
  const spans = [span('a', null, { endedAt: timeAfter(60_000) })]
  t.equal(silenceOf({ trace: running, spans }, now(60_000 + 599_999)), undefined)
  t.equal(silenceOf({ trace: running, spans }, now(60_000 + 600_000)), 600_000)
  t.equal(silenceOf({ trace: running, spans: [] }, now(600_000)), 600_000, 'counted from the start if there is no step')
  t.equal(silenceOf({ trace: { ...running, status: 'ok' }, spans }, now(1e9)), undefined)
})
