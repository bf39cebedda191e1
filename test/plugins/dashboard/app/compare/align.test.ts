/** Tests the list that aligns the spans of two traces. */

import fc from 'fast-check'
import t from 'tap'
import { type AlignedStep, alignSteps, findRow, stepsOf } from '../../../../../plugins/dashboard/app/compare/align.ts'
import { formatChange, formatShare } from '../../../../../plugins/dashboard/app/compare/format-change.ts'
import type { OutlineSpan } from '../../../../../plugins/dashboard/app/contract.ts'
import { formatCost, formatCount, formatDuration } from '../../../../../plugins/dashboard/app/ui/format.ts'

const span = (
  id: string,
  name: string,
  parentSpanId: string | null = null,
  model: string | null = null
): OutlineSpan => ({
  id,
  traceId: 'ab'.repeat(16),
  parentSpanId,
  name,
  kind: 'custom',
  status: 'ok',
  startedAt: '2026-11-25T10:00:00.000Z',
  endedAt: '2026-11-25T10:00:01.000Z',
  durationMs: 1000,
  provider: null,
  model,
  usage: null,
  costUsd: null,
  inputBytes: 0,
  outputBytes: 0,
  attributesBytes: 0,
  eventCount: 0,
  computedCost: null,
  tokenDetails: null,
  inputDigest: null
})

/** Returns the rows as lines: both ids, or one id with its side. */
const rowsOf = (a: readonly OutlineSpan[], b: readonly OutlineSpan[]) =>
  alignSteps(stepsOf(a), stepsOf(b)).map(({ a, b }) => `${a?.span.id ?? '+'} ${b?.span.id ?? '−'}`)

t.test('a path has the names from the root, numbered among siblings of the same name', async t => {
  const spans = [
    span('r', 'agent run'),
    span('1', 'chat', 'r'),
    span('2', 'look up', 'r'),
    span('3', 'chat', 'r'),
    span('4', 'a/b#2', '3'),
    span('5', 'lost', 'nowhere')
  ]
  t.same(
    stepsOf(spans).map(({ path, depth }) => `${depth} ${path}`),
    [
      '0 agent run',
      '1 agent run/chat',
      '1 agent run/look up',
      '1 agent run/chat#2',
      '2 agent run/chat#2/a\\/b\\#2',
      '1 (missing parent)/lost'
    ]
  )
})

t.test('spans with the same path share a row, and spans in only one trace have their own', async t => {
  const a = [span('a0', 'run'), span('a1', 'chat', 'a0'), span('a2', 'refund', 'a0'), span('a3', 'chat', 'a0')]
  const b = [span('b0', 'run'), span('b1', 'chat', 'b0'), span('b2', 'chat', 'b0'), span('b3', 'check', 'b0')]
  t.same(rowsOf(a, b), ['a0 b0', 'a1 b1', 'a2 −', 'a3 b2', '+ b3'])
  t.same(rowsOf(a, []), ['a0 −', 'a1 −', 'a2 −', 'a3 −'])
  t.same(rowsOf([], b).length, 4)
})

t.test('if paths differ, their names count, then the last names', async t => {
  // The second trace has the same steps below a different root.
  const a = [span('a0', 'old run'), span('a1', 'chat', 'a0'), span('a2', 'tool', 'a1')]
  const b = [span('b0', 'new run'), span('b1', 'chat', 'b0'), span('b2', 'tool', 'b1')]
  t.same(rowsOf(a, b), ['a0 −', '+ b0', 'a1 b1', 'a2 b2'])
  // Judged by its children, the second chat of one trace matches the first chat of the other, but equal paths have
  // priority.
  const c = [span('c0', 'run'), span('c1', 'chat', 'c0'), span('c2', 'chat', 'c0')]
  const d = [span('d0', 'run'), span('d2', 'chat', 'd0')]
  t.same(rowsOf(c, d), ['c0 d0', 'c1 d2', 'c2 −'])
})

t.test("a model's name does not keep spans apart", async t => {
  const a = [
    span('a0', 'run'),
    span('a1', 'chat gpt-5-mini', 'a0', 'gpt-5-mini-2025-08-07'),
    span('a2', 'gpt-5', 'a0', 'gpt-5')
  ]
  const b = [span('b0', 'run'), span('b1', 'chat claude-opus', 'b0', 'claude-opus'), span('b2', 'gpt-4', 'b0', 'gpt-4')]
  t.same(rowsOf(a, b), ['a0 b0', 'a1 b1', 'a2 −', '+ b2'], 'but a name that consists only of the model is a name')
  t.same(
    stepsOf([span('1', 'a chat o1', null, 'o1'), span('2', 'step 1', null, 'step')]).map(({ path }) => path),
    ['a chat o1', '1'],
    'three-letter words are not models'
  )
})

t.test("rows are found by either trace's span", async t => {
  const rows = alignSteps(stepsOf([span('1', 'x'), span('2', 'y')]), stepsOf([span('3', 'x'), span('1', 'z')]))
  t.same(
    rows.map(({ key }) => key),
    ['1', '2', 'b:1']
  )
  const found = (key: string) => findRow(rows, key)?.key
  t.same(['1', '2', '3', 'b:1', 'b:3', 'none'].map(found), ['1', '2', '1', 'b:1', '1', undefined])
})

const names = fc.constantFrom('run', 'chat', 'tool', 'search', 'write')
/** Generates the spans of trees of any shape. Some parents come later in the list or are missing. */
const spansOf = (prefix: string) =>
  fc
    .array(fc.record({ name: names, parent: fc.integer({ min: -2, max: 30 }) }), { maxLength: 30 })
    .map(list =>
      list.map(({ name, parent }, i) =>
        span(`${prefix}${i}`, name, parent === -1 || parent === i ? null : `${prefix}${parent}`)
      )
    )

t.test('the rows contain each span once, in tree order, and pair only equal names', async () => {
  fc.assert(
    fc.property(spansOf('a'), spansOf('b'), (a, b) => {
      const [left, right] = [stepsOf(a), stepsOf(b)]
      const rows = alignSteps(left, right)
      const inOrder = (found: readonly AlignedStep[], all: readonly AlignedStep[]) =>
        found.length === all.length && found.every((step, i) => step === all[i])
      return (
        left.length === a.length &&
        right.length === b.length &&
        inOrder(
          rows.flatMap(row => row.a ?? []),
          left
        ) &&
        inOrder(
          rows.flatMap(row => row.b ?? []),
          right
        ) &&
        rows.every(({ a, b }) => a === undefined || b === undefined || a.name === b.name) &&
        new Set(rows.map(({ key }) => key)).size === rows.length
      )
    }),
    { numRuns: 100 }
  )
})

t.test('no other alignment in order pairs more spans with equal paths', async () => {
  fc.assert(
    fc.property(spansOf('a'), spansOf('b'), (a, b) => {
      const [left, right] = [stepsOf(a), stepsOf(b)]
      const paired = alignSteps(left, right).filter(row => row.a !== undefined && row.a.path === row.b?.path).length
      return paired === lengthOfCommon(left, right)
    }),
    { numRuns: 100 }
  )
})

function lengthOfCommon(a: readonly { path: string }[], b: readonly { path: string }[]): number {
  let before = new Array<number>(b.length + 1).fill(0)
  for (const { path } of a) {
    const row = [0]
    for (let j = 0; j < b.length; j++) {
      row.push(path === b[j]!.path ? before[j]! + 1 : Math.max(before[j + 1]!, row[j]!))
    }
    before = row
  }
  return before.at(-1)!
}

t.test('two traces of 200 spans are aligned', async t => {
  const many = (prefix: string, by: number) => [
    span(`${prefix}0`, 'run'),
    ...Array.from({ length: 199 }, (_, i) => span(`${prefix}${i + 1}`, `step ${(i * by) % 40}`, `${prefix}0`))
  ]
  const rows = alignSteps(stepsOf(many('a', 1)), stepsOf(many('b', 3)))
  t.ok(rows.length >= 200 && rows.length < 400)
  t.equal(rows.filter(({ a }) => a !== undefined).length, 200)
  t.equal(rows.filter(({ b }) => b !== undefined).length, 200)
})

t.test('a difference has a sign and a unit, and exists only between known values', async t => {
  t.equal(formatChange(1200, 1900, formatDuration), '+700 ms')
  t.equal(formatChange(1900, 1200, formatDuration), '−700 ms')
  t.equal(formatChange(0.01, 0.03, formatCost), '+$0.0200')
  t.equal(formatChange(7, 7, formatCount), '=')
  t.equal(formatChange(null, 7, formatCount), '–')
  t.equal(formatShare(100, 135), '+35\u202f%')
  t.equal(formatShare(100, 50), '−50\u202f%')
  t.same([formatShare(0, 5), formatShare(null, 5), formatShare(5, 5)], ['', '', ''])
})
