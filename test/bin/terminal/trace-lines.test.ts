import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Watch } from '../../../bin/commands/traces/watch.ts'
import { type ShownSummary, tailLine } from '../../../bin/terminal/columns.ts'
import { renderLine } from '../../../bin/terminal/lines.ts'
import { type DetailedTrace, failedSteps, nestedSteps, traceLines } from '../../../bin/terminal/trace-lines.ts'
import { duration, money, shortClock } from '../../../bin/terminal/words.ts'
import { parseExact } from '../../../lib/trace/json/exact-json.ts'
import { prettyLines } from '../../../lib/trace/json/pretty.ts'
import { runs } from '../../torture/orders.ts'

type Span = DetailedTrace['spans'][number]
const idOf = (n: number) => n.toString(16).padStart(16, '0')

const spanOf = (n: number, more: Partial<Span> = {}): Span => ({
  id: idOf(n),
  traceId: 'a'.repeat(32),
  parentSpanId: null,
  name: `step ${n}`,
  kind: 'tool',
  status: 'ok',
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: `2026-01-01T00:00:${String(n % 60).padStart(2, '0')}.000Z`,
  durationMs: n,
  provider: null,
  model: null,
  input: null,
  output: null,
  attributes: {},
  events: [],
  usage: null,
  costUsd: null,
  ...more
})

/** Spans whose parents come earlier, are missing, or are absent. */
const forest = fc
  .array(fc.record({ parent: fc.nat(12), isFailed: fc.boolean() }), { maxLength: 12 })
  .map(nodes =>
    nodes.map(({ parent, isFailed }, n) =>
      spanOf(n + 1, { parentSpanId: parent < n ? idOf(parent + 1) : null, status: isFailed ? 'error' : 'ok' })
    )
  )

/** Draws a tree by recursion from the top, as people would. */
function drawn(spans: readonly Span[], parentSpanId: string | null = null, before = '', isTop = true): string[] {
  const siblings = spans.filter(span => span.parentSpanId === parentSpanId)
  return siblings.flatMap((span, i) => {
    const isLast = i === siblings.length - 1
    const branch = isTop ? '' : isLast ? '└─ ' : '├─ '
    const rail = isTop ? '' : isLast ? '   ' : '│  '
    return [`${before}${branch}${span.name}`, ...drawn(spans, span.id, before + rail, false)]
  })
}

t.test('steps are drawn as a tree', async t => {
  fc.assert(
    fc.property(forest, spans => {
      assert.deepEqual(
        nestedSteps(spans).map(({ branch, span }) => branch + span.name),
        drawn(spans)
      )
    }),
    runs(300)
  )
  const [, child] = nestedSteps([spanOf(1), spanOf(2, { parentSpanId: idOf(1) }), spanOf(3, { parentSpanId: idOf(2) })])
  t.equal(child!.below, '   │  ', 'lines below a step are connected to its children')
})

t.test('the failed step is the first to end without a failed descendant', async t => {
  const isBelow = (spans: readonly Span[], span: Span, above: Span): boolean => {
    const parent = spans.find(({ id }) => id === span.parentSpanId)
    return parent !== undefined && (parent === above || isBelow(spans, parent, above))
  }
  fc.assert(
    fc.property(forest, spans => {
      const failed = spans.filter(({ status }) => status === 'error')
      const deepest = failed.filter(each => !failed.some(other => isBelow(spans, other, each)))
      assert.deepEqual(failedSteps(spans), deepest)
    }),
    runs(300)
  )
  const cycle = [1, 2].map(n => spanOf(n, { parentSpanId: idOf(3 - n), status: 'error' }))
  t.equal(failedSteps(cycle).length, 2, 'parents that form a cycle hide no failure')
})

const summary: ShownSummary = {
  id: 'a'.repeat(32),
  name: 'answer',
  status: 'ok',
  environment: null,
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: null,
  durationMs: 1234,
  provider: 'p',
  model: 'm',
  sessionId: null,
  userId: 'u',
  tags: ['a'],
  usage: { inputTokens: 1200, outputTokens: 34, totalTokens: 1234 },
  costUsd: 0.0123,
  spanCount: 0,
  errorCount: 0,
  estimatedBytes: 0,
  ingestedAt: null,
  scores: {}
}
const detailOf = (spans: Span[], more: Partial<DetailedTrace['trace']> = {}): DetailedTrace => ({
  trace: { ...summary, input: null, output: null, metadata: {}, metadataUpdatedAt: null, bodyHash: '', ...more },
  spans,
  scores: []
})
const shown = (detail: DetailedTrace, hasTexts = false, columns = 80) =>
  traceLines(detail, { columns, hasTexts }).map(line => renderLine(line, false))

t.test('a trace is shown with its facts, the failed step first, and texts on request', async t => {
  const events = [
    { name: 'exception', timestamp: '', attributes: { 'exception.type': 'E', 'exception.message': 'no\nway' } }
  ]
  const spans = [
    spanOf(1, { kind: 'agent', status: 'error', usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } }),
    spanOf(2, { parentSpanId: idOf(1), status: 'error', events, input: 'two\nlines', output: { a: [1] } }),
    spanOf(3, { parentSpanId: idOf(1), costUsd: 0.5 })
  ]
  const lines = shown(detailOf(spans, { status: 'error', metadata: { spoor: { spansLeftOut: { count: 2 } } } }))
  t.equal(lines[0], 'answer  error')
  t.ok(lines.includes('tokens       1,200 in, 34 out'))
  const at = lines.indexOf(`Failed: step 2 (tool, ${idOf(2)}), after 2 ms`)
  t.same(lines.slice(at + 1, at + 4), ['  E: no', '  way', ''])
  t.match(lines.slice(at + 4), [
    /^STEP +KIND +DURATION +TOKENS +COST +ID$/,
    /^✗ step 1 +agent +1 ms +3 +0{15}1$/,
    /^├─ ✗ step 2 +tool +2 ms +0{15}2$/,
    /^└─ step 3 +tool +3 ms +\$0\.50 +0{15}3$/,
    '2 more steps could not be stored.'
  ])
  const texts = shown(detailOf(spans, { input: 'question' }), true)
  t.ok(texts.join('\n').includes('input\n  question\n'))
  t.ok(
    texts.join('\n').includes('│     input\n│       two\n│       lines\n│     output\n│       {\n'),
    texts.join('\n')
  )
  t.ok(shown(detailOf([])).includes('The trace has no steps.'))
})

t.test('no text in a trace controls the terminal', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\u001b[2J', '\n', '\r', '\t', '\u009b', '\u202e', '語') })
  fc.assert(
    fc.property(text, fc.integer({ min: 20, max: 120 }), (text, columns) => {
      const span = spanOf(1, {
        ...{ name: text, input: text, output: { [text]: text }, attributes: { 'error.type': text }, model: text },
        status: 'error'
      })
      const more = { name: text, userId: text, tags: [text], model: text, input: text, metadata: { [text]: [text] } }
      const lines = [
        ...shown(detailOf([span], more), true, columns),
        renderLine(tailLine({ ...summary, ...more }, columns), false)
      ]
      for (const line of lines) assert.doesNotMatch(line, /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u)
    }),
    runs(100)
  )
})

t.test('JSON is indented, with numbers as sent', async t => {
  t.same(prettyLines(parseExact('{"a":[1.0,{}],"b":{"c":12345678901234567890}}')), [
    '{',
    '  "a": [',
    '    1.0,',
    '    {}',
    '  ],',
    '  "b": {',
    '    "c": 12345678901234567890',
    '  }',
    '}'
  ])
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const text = JSON.stringify(value)
      assert.equal(prettyLines(JSON.parse(text)).join('\n'), JSON.stringify(JSON.parse(text), null, 2))
    }),
    runs(200)
  )
})

t.test('tail shows each trace when it appears and when it ends', async () => {
  const look = fc.uniqueArray(fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), hasEnded: fc.boolean() }), {
    selector: ({ id }) => id
  })
  fc.assert(
    fc.property(fc.array(look, { minLength: 1 }), looks => {
      const lists = looks.map(look =>
        look.map(({ id, hasEnded }): ShownSummary => ({ ...summary, id, status: hasEnded ? 'ok' : 'running' }))
      )
      const [first, ...rest] = lists
      const watch = new Watch(first!)
      const known = new Map(first!.map(({ id, status }) => [id, status]))
      for (const list of rest) {
        const expected = list.filter(({ id, status }) => {
          const before = known.get(id)
          return before === undefined || (before === 'running' && status === 'ok')
        })
        assert.deepEqual(watch.changed(list), expected)
        for (const { id, status } of list) known.set(id, status)
      }
    }),
    runs(200)
  )
})

t.test('amounts are short', async t => {
  const durations = { 0: '0 ms', 999: '999 ms', 1000: '1.00 s', 9994: '9.99 s', 9995: '10.0 s', 59949: '59.9 s' }
  for (const [ms, words] of Object.entries(durations)) t.equal(duration(Number(ms)), words)
  t.equal(duration(59_950), '1 min 0 s')
  t.equal(duration(3_599_499), '59 min 59 s')
  t.equal(duration(3_599_500), '1 h 0 min')
  t.equal(duration(36_000_000 * 1000), '10,000 h 0 min')
  t.equal(duration(null), '')
  const costs = { 0: '$0.00', 0.0123: '$0.012', 0.0995: '$0.10', 1234.5: '$1,234.50', 0.00000012: '<$0.000001' }
  for (const [usd, words] of Object.entries(costs)) t.equal(money(Number(usd)), words)
  t.equal(money(0.000_012_3), '$0.000012')
  t.equal(shortClock('2026-01-31T12:00:00.123Z', '2026-12-01'), '01-31 12:00:00')
  t.equal(shortClock('2025-01-31T12:00:00.123Z', '2026-12-01'), '2025-01-31')
})
