import fc from 'fast-check'
import t from 'tap'
import {
  ancestorsOf,
  firstSpan,
  foldable,
  growTree,
  visibleRows
} from '../../../../../plugins/dashboard/app/content/span-tree.ts'
import type { OutlineSpan } from '../../../../../plugins/dashboard/app/contract.ts'
import { barOf, criticalPath, frameOf, ticks } from '../../../../../plugins/dashboard/app/trace/waterfall.ts'
import { outlineSpan as span } from './spans.ts'

/** Returns the rows as lines, indented by depth. */
const draw = (spans: readonly OutlineSpan[], folded: string[] = []) =>
  visibleRows(growTree(spans), new Set(folded)).map(({ key, depth }) => '  '.repeat(depth) + key)

t.test('a tree has each span below its parent, whichever arrived first', async t => {
  t.same(draw([span('b', 'a'), span('a'), span('c', 'b'), span('d', 'a')]), ['a', '  b', '    c', '  d'])
  t.same(draw([]), [])
})

t.test('spans whose parent is missing form a group by that parent', async t => {
  t.same(draw([span('a'), span('b', 'x'), span('c', 'x'), span('d', 'y')]), [
    'a',
    'missing:x',
    '  b',
    '  c',
    'missing:y',
    '  d'
  ])
})

t.test('a cycle of parents is cut at one of its spans', async t => {
  t.same(draw([span('a', 'a')]), ['a'])
  t.same(draw([span('a', 'b'), span('b', 'a'), span('c', 'b')]), ['a', '  b', '    c'])
})

t.test('a collapsed row hides the rows below it', async t => {
  const spans = [span('a'), span('b', 'a'), span('c', 'b')]
  t.same(draw(spans, ['b']), ['a', '  b'])
  t.same(draw(spans, ['a']), ['a'])
  t.same(foldable(growTree(spans)), ['a', 'b'])
  t.same(ancestorsOf(growTree(spans), 'c'), ['a', 'b'])
  t.same(ancestorsOf(growTree(spans), 'a'), [])
})

t.test('rows state their position among their siblings', async t => {
  const rows = visibleRows(growTree([span('a'), span('b', 'a'), span('c', 'a')]), new Set())
  t.match(rows, [
    { place: 1, siblings: 1 },
    { place: 1, siblings: 2 },
    { place: 2, siblings: 2 }
  ])
})

t.test('each span has one row, whatever was recorded', async t => {
  const ids = fc.constantFrom(...'abcdefghij')
  const spans = fc.uniqueArray(fc.tuple(ids, fc.option(fc.oneof(ids, fc.constant('gone')))), { selector: ([id]) => id })
  fc.assert(
    fc.property(spans, pairs => {
      const rows = visibleRows(growTree(pairs.map(([id, parent]) => span(id, parent))), new Set())
      t.same(rows.flatMap(({ node }) => node.span?.id ?? []).sort(), pairs.map(([id]) => id).sort())
      t.equal(new Set(rows.map(({ key }) => key)).size, rows.length)
    })
  )
})

t.test('two hundred nested spans have ordinary rows', async t => {
  const spans = Array.from({ length: 200 }, (_, i) => span(`s${i}`, i === 0 ? null : `s${i - 1}`))
  const rows = visibleRows(growTree(spans), new Set())
  t.equal(rows.length, 200)
  t.equal(rows.at(-1)!.depth, 199)
})

t.test('the first span shown is the root or, in a failed trace, the first failed span', async t => {
  const failed = { status: 'error' } as const
  const roots = growTree([span('a', null, failed), span('b', 'a'), span('c', 'a', failed), span('d', 'c', failed)])
  t.equal(firstSpan(roots, true), 'd')
  t.equal(firstSpan(roots, false), 'a')
  t.equal(firstSpan(growTree([span('a', 'gone')]), false), 'a', 'never a group')
  t.equal(firstSpan([], true), undefined)
})

t.test("a waterfall has bars at the spans' positions, even beyond their parents", async t => {
  const trace = { startedAt: '2026-11-25T10:00:00.000Z', endedAt: '2026-11-25T10:00:04.000Z' }
  const late = span('a', null, { endedAt: '2026-11-25T10:00:08.000Z' })
  const frame = frameOf(trace, [late], 0)
  t.equal(frame.end - frame.start, 8000, 'the frame includes spans that ended after the trace')
  t.same(barOf(trace.startedAt, trace.endedAt, frame), { left: 0, width: 0.5 })
  t.equal(barOf('2026-11-25T10:00:09.000Z', '2026-11-25T10:00:10.000Z', frame), undefined)
  const running = frameOf({ ...trace, endedAt: null }, [], Date.parse('2026-11-25T10:00:02.000Z'))
  t.equal(running.end - running.start, 2000)
  t.ok(
    frameOf({ startedAt: trace.startedAt, endedAt: trace.startedAt }, [], 0).end > frame.start,
    'never of length zero'
  )
})

t.test('an axis has a few round ticks', async t => {
  const frame = (ms: number) => ({ start: 0, end: ms })
  t.same(ticks(frame(4210), 0, 5), [0, 1000, 2000, 3000, 4000])
  t.same(ticks(frame(90_000), 0, 5), [0, 30_000, 60_000, 90_000])
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e10 }), fc.integer({ min: 1, max: 10 }), (ms, most) => {
      const marks = ticks(frame(ms), 0, most)
      t.ok(marks.length >= 1 && marks.length <= most + 1)
    })
  )
})

t.test('the critical path is followed back from the end', async t => {
  const at = (from: number, to: number) => ({
    startedAt: `2026-11-25T10:00:0${from}.000Z`,
    endedAt: `2026-11-25T10:00:0${to}.000Z`
  })
  const spans = [
    span('root', null, at(0, 9)),
    span('first', 'root', at(0, 3)),
    span('beside', 'root', at(1, 2)),
    span('last', 'root', at(4, 8)),
    span('inner', 'last', at(5, 7))
  ]
  t.same([...criticalPath(spans)].sort(), ['first', 'inner', 'last', 'root'])
})
