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
  model: string | null = null,
  over: Partial<OutlineSpan> = {}
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
  inputDigest: null,
  ...over
})

/** Returns the rows as lines: both ids, or one id with its side. */
const rowsOf = (a: readonly OutlineSpan[], b: readonly OutlineSpan[]) =>
  alignSteps(stepsOf(a), stepsOf(b)).map(({ a, b }) => `${a?.span.id ?? '+'} ${b?.span.id ?? '−'}`)

/** Creates a tool call below the span `parent`. Equal inputs have equal names. */
const call = (id: string, parent: string, input: string, over: Partial<OutlineSpan> = {}) =>
  span(id, 'search', parent, null, { kind: 'tool', inputBytes: 20, inputDigest: input, ...over })
const failed = { status: 'error' } as const

t.test('a step knows its parent and its depth, and its name lacks the model', async t => {
  const spans = [
    span('r', 'agent run'),
    span('1', 'chat gpt-5', 'r', 'gpt-5'),
    span('2', 'look up', '1'),
    span('3', 'chat', 'r'),
    span('5', 'lost', 'nowhere')
  ]
  t.same(
    stepsOf(spans).map(({ depth, name, parent }) => `${depth} ${name} ${parent}`),
    ['0 agent run -1', '1 chat 0', '2 look up 1', '1 chat 0', '1 lost -1']
  )
})

t.test('a retry in one trace leaves the steps after it aligned', async t => {
  const root = (prefix: string) => span(`${prefix}0`, 'run')
  const a = [root('a'), call('a1', 'a0', 'tea'), call('a2', 'a0', 'cup'), call('a3', 'a0', 'pot')]
  const retried = [call('b1', 'b0', 'tea', failed), call('b2', 'b0', 'tea', failed), call('b3', 'b0', 'tea')]
  const b = [root('b'), ...retried, call('b4', 'b0', 'cup'), call('b5', 'b0', 'pot')]
  t.same(rowsOf(a, b), ['a0 b0', '+ b1', '+ b2', 'a1 b3', 'a2 b4', 'a3 b5'])
  t.same(rowsOf(b, a), ['b0 a0', 'b1 −', 'b2 −', 'b3 a1', 'b4 a2', 'b5 a3'])

  const unknown = { inputBytes: 0, inputDigest: null }
  const c = [root('c'), call('c1', 'c0', '', unknown), span('c2', 'chat', 'c0')]
  const d = [root('d'), call('d1', 'd0', '', { ...unknown, ...failed }), call('d2', 'd0', '', unknown)]
  t.same(rowsOf(c, [...d, span('d3', 'chat', 'd0')]), ['c0 d0', '+ d1', 'c1 d2', 'c2 d3'], 'without inputs')
})

t.test('the parents of a pair, and the call that led to it, are paired too', async t => {
  const turn = (prefix: string, at: number, input: string, over = {}) => [
    span(`${prefix}t${at}`, 'turn', `${prefix}0`),
    span(`${prefix}m${at}`, 'chat', `${prefix}t${at}`),
    call(`${prefix}s${at}`, `${prefix}t${at}`, input, over)
  ]
  const a = [span('a0', 'run'), ...turn('a', 1, 'tea'), ...turn('a', 2, 'cup')]
  const b = [span('b0', 'run'), ...turn('b', 1, 'tea', failed), ...turn('b', 2, 'tea'), ...turn('b', 3, 'cup')]
  t.same(rowsOf(a, b), [
    ...['a0 b0', '+ bt1', '+ bm1', '+ bs1'],
    ...['at1 bt2', 'am1 bm2', 'as1 bs2', 'at2 bt3', 'am2 bm3', 'as2 bs3']
  ])
})

t.test(
  'spans with the same names from the root down share a row, and spans in only one trace have their own',
  async t => {
    const a = [span('a0', 'run'), span('a1', 'chat', 'a0'), span('a2', 'refund', 'a0'), span('a3', 'chat', 'a0')]
    const b = [span('b0', 'run'), span('b1', 'chat', 'b0'), span('b2', 'chat', 'b0'), span('b3', 'check', 'b0')]
    t.same(rowsOf(a, b), ['a0 b0', 'a1 b1', 'a2 −', 'a3 b2', '+ b3'])
    t.same(rowsOf(a, []), ['a0 −', 'a1 −', 'a2 −', 'a3 −'])
    t.same(rowsOf([], b).length, 4)
  }
)

t.test('if the names from the root down differ, the last name counts', async t => {
  // The second trace has the same steps below a different root.
  const a = [span('a0', 'old run'), span('a1', 'chat', 'a0'), span('a2', 'tool', 'a1')]
  const b = [span('b0', 'new run'), span('b1', 'chat', 'b0'), span('b2', 'tool', 'b1')]
  t.same(rowsOf(a, b), ['a0 −', '+ b0', 'a1 b1', 'a2 b2'])
  // Without inputs, nothing tells which of two calls is missing.
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
    stepsOf([span('1', 'a chat o1', null, 'o1'), span('2', 'step 1', null, 'step')]).map(({ name }) => name),
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

/** Generates the spans of a run: a root with steps, some of which have known inputs. */
const runs = fc.array(
  fc.record({
    name: names,
    kind: fc.constantFrom('tool', 'llm', 'custom'),
    inputBytes: fc.constantFrom(0, 20),
    input: fc.constantFrom('tea', 'cup', 'pot'),
    /** How often the step is tried in vain before, in the second trace. */
    retries: fc.constantFrom(0, 0, 0, 1, 3)
  }),
  { maxLength: 40 }
)

t.test('in a run with failed retries, the steps of the run without them are paired with themselves', async () => {
  fc.assert(
    fc.property(runs, steps => {
      const spansOfRun = (prefix: string, isRetried: boolean) =>
        steps.flatMap(({ name, kind, inputBytes, input, retries }, i) => {
          const step = (id: string, over: Partial<OutlineSpan>) =>
            span(id, name, `${prefix}r`, null, {
              ...{ kind: kind as OutlineSpan['kind'], inputBytes, inputDigest: inputBytes === 0 ? null : input },
              ...over
            })
          const vain = Array.from({ length: isRetried ? retries : 0 }, (_, n) => step(`${prefix}${i}x${n}`, failed))
          return [...vain, step(`${prefix}${i}`, {})]
        })
      const a = [span('ar', 'run'), ...spansOfRun('a', false)]
      const b = [span('br', 'run'), ...spansOfRun('b', true)]
      const rows = alignSteps(stepsOf(a), stepsOf(b))
      return rows.every(({ a, b }) => a === undefined || b?.span.id === a.span.id.replace('a', 'b'))
    })
  )
})

t.test('a trace with insertions has a partner for each step of the trace without them', async () => {
  const insertions = fc.array(fc.record({ at: fc.nat(40), name: names, input: fc.constantFrom('tea', 'cup') }), {
    maxLength: 20
  })
  fc.assert(
    fc.property(runs, insertions, (steps, inserted) => {
      const step = (id: string, { name, input }: { name: string; input: string }) =>
        span(id, name, `${id[0]}r`, null, { kind: 'tool', inputBytes: 20, inputDigest: input })
      const b = steps.map((each, i) => step(`b${i}`, each))
      for (const [i, each] of inserted.entries()) b.splice(each.at % (b.length + 1), 0, step(`bx${i}`, each))
      const a = [span('ar', 'run'), ...steps.map((each, i) => step(`a${i}`, each))]
      const rows = alignSteps(stepsOf(a), stepsOf([span('br', 'run'), ...b]))
      return rows.every(({ a, b }) => a === undefined || a.span.inputDigest === b?.span.inputDigest)
    })
  )
})

t.test('one call that both traces make at different times does not keep the others apart', async t => {
  const calls = (prefix: string, ...inputs: string[]) => [
    span(`${prefix}0`, 'run'),
    ...inputs.map((input, i) => call(`${prefix}${i + 1}`, `${prefix}0`, input))
  ]
  const [a, b] = [calls('a', 'now', 'a', 'b', 'c', 'd'), calls('b', 'e', 'f', 'g', 'h', 'now')]
  t.same(rowsOf(a, b), ['a0 b0', 'a1 b1', 'a2 b2', 'a3 b3', 'a4 b4', 'a5 b5'])
  const many = (prefix: string, at: number) =>
    calls(prefix, ...Array.from({ length: 3000 }, (_, i) => (i === at ? 'now' : `${prefix}${i}`)))
  t.equal(rowsOf(many('a', 0), many('b', 2999)).length, 3001, 'not in long traces either')
})

t.test('two traces of 10,000 spans are aligned completely, whether they have much or nothing in common', async t => {
  const many = (prefix: string, inputOf: (i: number) => string, nameOf = (i: number) => `step ${i % 7}`) =>
    stepsOf([
      span(`${prefix}0`, 'run'),
      ...Array.from({ length: 9999 }, (_, i) => {
        const over = { inputBytes: 20, inputDigest: inputOf(i), status: i % 11 === 0 ? 'error' : 'ok' } as const
        return span(`${prefix}${i + 1}`, nameOf(i), `${prefix}0`, null, over)
      })
    ])
  const base = many('a', String)
  // Every hundredth step of the other trace has another input.
  const others = [
    many('b', i => (i % 100 === 0 ? 'x' : String(i))),
    many('c', i => String((i * 7919) % 9999)),
    many('d', i => `d ${i}`),
    many(
      'e',
      i => `e ${i}`,
      i => `other ${i % 5}`
    ),
    many(
      'f',
      i => String(9998 - i),
      i => `step ${(i * i) % 7}`
    )
  ]
  for (const [i, other] of others.entries()) {
    const rows = alignSteps(base, other)
    t.equal(rows.filter(({ a }) => a !== undefined).length, 10_000)
    t.equal(rows.filter(({ b }) => b !== undefined).length, 10_000)
    if (i === 0) t.equal(rows.length, 10_000)
  }
  const deep = (prefix: string) =>
    stepsOf(
      Array.from({ length: 10_000 }, (_, i) => span(`${prefix}${i}`, 'level', i === 0 ? null : `${prefix}${i - 1}`))
    )
  t.equal(alignSteps(deep('a'), deep('b')).length, 10_000)
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
