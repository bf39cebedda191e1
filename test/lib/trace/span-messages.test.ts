import fc from 'fast-check'
import t from 'tap'
import { joinMessages, type SpanMessages } from '../../../lib/trace/span-messages.ts'

const at = (second: number) => `2026-11-21T00:00:${String(second).padStart(2, '0')}.000Z`
const span = (id: string, start: number, end: number, more: object = {}) => ({
  ...{ id, parentSpanId: null as string | null, startedAt: at(start), endedAt: at(end) },
  ...{ input: null as string | null, output: null as string | null, ...more }
})
const said = (spanId: string, input: string | null, output: string | null): SpanMessages => ({
  ...{ spanId, micros: 0, place: 0, digest: '', input, output }
})
const TRACE = { name: 'n', input: null, output: null }

t.test('a span shows the messages that name it if it has none of its own', t => {
  const spans = [span('a', 0, 9, { input: '"own"' }), span('b', 1, 2)]
  const messages = [said('a', '[1]', null), said('a', null, '[2]'), said('a', null, '[3]'), said('c', '[4]', null)]
  t.strictSame(joinMessages(TRACE, spans, messages), {
    trace: { ...TRACE, output: '[2,3]' },
    spans: [{ ...spans[0], output: '[2,3]' }, spans[1]]
  })
  t.strictSame(joinMessages(TRACE, spans, []), { trace: TRACE, spans })
  t.end()
})

t.test("the trace takes the first of these spans' input, and the last one's output", t => {
  const spans = [span('b', 3, 4, { parentSpanId: 'a' }), span('a', 1, 9, { parentSpanId: 'r' }), span('c', 2, 3)]
  const messages = [said('a', '["a"]', '["A"]'), said('b', '["b"]', '["B"]')]
  t.match(joinMessages(TRACE, spans, messages).trace, { input: '["a"]', output: '["A"]' })
  const root = joinMessages(TRACE, spans, [...messages, said('c', '["c"]', '["C"]')])
  t.match(root.trace, { input: '["c"]', output: '["C"]' }, 'the span without a parent comes first')
  const own = { ...TRACE, input: '"mine"' }
  t.match(joinMessages(own, spans, messages).trace, { input: '"mine"', output: '["A"]' })
  t.end()
})

const text = fc.option(fc.constantFrom('[1]', '[2]', '[]'), { nil: null })
const spans = fc.uniqueArray(
  fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(9), fc.nat(9), fc.boolean(), text, text),
  { selector: ([id]) => id }
)

t.test('the order of spans does not matter, and sent values do not change', t => {
  const messages = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'x'), text, text).map(args => said(...args)))
  fc.assert(
    fc.property(spans, messages, (given, messages) => {
      const sent = given.map(([id, start, length, isChild, input, output], i) =>
        // No two spans start or end at the same time, so their order is unambiguous.
        span(id, start * 4 + i, (start + length) * 2 + i, { parentSpanId: isChild ? 'p' : null, input, output })
      )
      const distinct = new Set(sent.flatMap(({ startedAt, endedAt }) => [`s${startedAt}`, `e${endedAt}`])).size
      fc.pre(distinct === sent.length * 2)
      const one = joinMessages(TRACE, sent, messages)
      const other = joinMessages(TRACE, sent.toReversed(), messages)
      t.strictSame(other.trace, one.trace)
      for (const [i, { id, input, output }] of one.spans.entries()) {
        t.strictSame(
          other.spans.find(span => span.id === id),
          one.spans[i]
        )
        if (sent[i]!.input !== null) t.equal(input, sent[i]!.input)
        if (sent[i]!.output !== null) t.equal(output, sent[i]!.output)
      }
    }),
    { numRuns: 300 }
  )
  t.end()
})
