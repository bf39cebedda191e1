/** Tests the start, end and status of a gathered trace, whatever the order in which its spans arrive. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { INNER, PROCESS_ROOT, ROOT } from '../../../../lib/trace/states/gathered.ts'
import { runs } from '../../../torture/orders.ts'
import { at, exported, type Given, idOf, span } from './export-store.ts'

const root = (id: number, start: number, end: number, given: Given = {}) =>
  span(id, start, end, { ...given, hints: { level: ROOT, ...given.hints } })
const called = (id: number, start: number, end: number, given: Given = {}) =>
  span(id, start, end, { ...given, hints: { level: PROCESS_ROOT } })
const future = { hints: { endsInFuture: true } }

t.test('a trace lasts from the earliest start to the latest end, and fails with any of its roots', async t => {
  const cases: [string, ReturnType<typeof span>[], object][] = [
    [
      'a child outlives its root',
      [root(1, 0, 2), span(2, 1, 9, { kind: 'tool' })],
      { startedAt: at(0), endedAt: at(9), status: 'unset' }
    ],
    ['a child begins before its root', [root(1, 3, 5), span(2, 1, 4)], { startedAt: at(1), endedAt: at(5) }],
    [
      'three turns, of which the second failed',
      [
        root(1, 0, 30, { status: 'ok', input: '"q0"', output: '"a0"' }),
        root(2, 600, 630, { status: 'error', input: '"q1"', output: '"a1"' }),
        root(3, 1200, 1230, { status: 'ok', input: '"q2"', output: '"a2"' })
      ],
      { startedAt: at(0), endedAt: at(1230), status: 'error', input: '"q0"', output: '"a2"', errorCount: 1 }
    ],
    [
      'three runs below a root in another system',
      [called(1, 0, 5), called(2, 100, 105, { status: 'error' }), called(3, 240, 245)],
      { startedAt: at(0), endedAt: at(245), status: 'error' }
    ],
    [
      'a called process failed below a good root',
      [root(1, 0, 9, { status: 'ok' }), called(2, 1, 2, { status: 'error' })],
      { status: 'ok', errorCount: 1 }
    ],
    [
      'one root is ok, and the other states nothing',
      [root(1, 0, 1, { status: 'ok' }), root(2, 2, 3)],
      { status: 'ok' }
    ],
    [
      'a failed step',
      [root(1, 0, 5), span(2, 1, 2, { status: 'error', parentId: idOf(1) })],
      { status: 'unset', errorCount: 1 }
    ],
    ['a step from a clock that is ahead', [root(1, 0, 5), span(2, 1, 9_000_000, future)], { endedAt: at(5) }],
    ['a root from such a clock, alone', [root(1, 8_000_000, 9_000_000, future)], { endedAt: at(9_000_000) }],
    ['without a root', [span(1, 0, 5), span(2, 1, 9)], { endedAt: null, status: 'running' }]
  ]
  for (const [name, spans, expected] of cases) {
    t.match(exported(spans).trace, expected, name)
    t.match(exported(...spans.map(each => [each])).trace, expected, `${name}, one after the other`)
    t.match(exported(...spans.toReversed().map(each => [each])).trace, expected, `${name}, backwards`)
  }
})

t.test('start, end and status follow from the spans, in any order and portions', async () => {
  const piece = fc.record({
    start: fc.nat(50),
    length: fc.nat(20),
    level: fc.constantFrom(ROOT, PROCESS_ROOT, INNER, INNER),
    status: fc.constantFrom('ok', 'error', 'unset'),
    endsInFuture: fc.nat(9).map(n => n === 0)
  })
  const history = fc.array(piece, { minLength: 1, maxLength: 12 }).chain(pieces => {
    const spans = pieces.map(({ start, length, level, status, endsInFuture }, i) =>
      span(i + 1, start, start + length, { status, hints: { level, endsInFuture } })
    )
    return fc.record({
      spans: fc.constant(spans),
      order: fc.shuffledSubarray(spans, { minLength: spans.length }),
      size: fc.integer({ min: 1, max: 5 })
    })
  })
  fc.assert(
    fc.property(history, ({ spans, order, size }) => {
      const portions = Array.from({ length: Math.ceil(order.length / size) }, (_, i) =>
        order.slice(i * size, i * size + size)
      )
      const { startedAt, endedAt, status } = exported(...portions).trace
      const level = Math.min(...spans.map(({ hints }) => hints.level))
      const statuses = spans.filter(({ hints }) => hints.level === level).map(each => each.status)
      const sane = spans.filter(({ hints }) => !hints.endsInFuture)
      const ends = (sane.length > 0 ? sane : spans).map(each => each.endedAt)
      assert.equal(startedAt, spans.map(each => each.startedAt).toSorted()[0])
      assert.equal(endedAt, level === INNER ? null : ends.toSorted().at(-1))
      const worst = ['error', 'ok', 'unset'].find(each => statuses.includes(each))
      assert.equal(status, level === INNER ? 'running' : worst)
    }),
    runs(300)
  )
})
