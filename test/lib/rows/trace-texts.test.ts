import fc from 'fast-check'
import t from 'tap'
import { blockFieldsOf } from '../../../lib/rows/packed-texts.ts'
import { LEAST_SHARED, SharedFinder, textsOfTrace, withSharedTexts } from '../../../lib/rows/trace-texts.ts'
import type { PreparedSpan } from '../../../lib/trace/prepared.ts'

const TEXTS = ['x', 'y', 'é', '😀'].flatMap(unit => [
  JSON.stringify(unit.repeat(LEAST_SHARED - 2)),
  JSON.stringify(unit.repeat(LEAST_SHARED)),
  JSON.stringify(unit)
])
const someText = fc.option(fc.constantFrom(...TEXTS))
const someSpans = fc.uniqueArray(
  fc.record({
    id: fc.nat({ max: 99 }).map(n => n.toString(16).padStart(16, '0')),
    input: someText,
    output: someText,
    callDetails: fc.constantFrom(null, '{"responseId":"r"}', '{"step":{"call":"c","bytes":1}}')
  }),
  { selector: ({ id }) => id, maxLength: 12 }
)

/** The rule: the first span with the text that is not a step, if the text is long enough. */
const spanWith = (side: 'input' | 'output', text: string | null, spans: readonly PreparedSpan[]) =>
  text === null || text.length < LEAST_SHARED
    ? null
    : (spans.find(span => span[side] === text && !span.callDetails?.includes('step'))?.id ?? null)

t.test('a trace shares a text with a span that has the same one, but not with a step', async t => {
  let shared = 0
  fc.assert(
    fc.property(someSpans, someText, someText, (given, input, output) => {
      const spans = given as unknown as PreparedSpan[]
      const texts = textsOfTrace({ input, output, spans })
      const expected = {
        inputSpanId: spanWith('input', input, spans),
        outputSpanId: spanWith('output', output, spans)
      }
      t.match(texts, expected)
      t.equal(texts.input, expected.inputSpanId === null ? input : null)
      t.equal(texts.output, expected.outputSpanId === null ? output : null)
      t.equal(texts.inputBytes, expected.inputSpanId === null ? null : Buffer.byteLength(input!))
      t.equal(texts.outputBytes, expected.outputSpanId === null ? null : Buffer.byteLength(output!))
      t.match(withSharedTexts(texts, given), { input, output }, 'and reads as before')
      if (texts.inputSpanId !== null) shared++
    }),
    { numRuns: 300 }
  )
  t.ok(shared > 5, `${shared} inputs were shared`)
})

t.test('a text in the row takes precedence, and a missing span has none', async t => {
  const spanId = '1'.repeat(16)
  const names = { inputSpanId: spanId, outputSpanId: spanId }
  t.match(withSharedTexts({ input: '1', output: null, ...names }, []), { input: '1', output: null })
  t.match(withSharedTexts({ input: '1', output: null, ...names }, [{ id: spanId, input: '2', output: '3' }]), {
    ...{ input: '1', output: '3' }
  })
})

t.test("a stored trace's texts are found in its spans, packed or not", async () => {
  fc.assert(
    fc.property(someSpans, someText, someText, fc.infiniteStream(fc.boolean()), (given, input, output, isPacked) => {
      const finder = new SharedFinder({ input, output })
      for (const span of given) {
        const texts = { ...span, attributes: null, events: null }
        if (isPacked.next().value) finder.lookAtPacked({ id: span.id, bytes: blockFieldsOf(texts) })
        else finder.lookAt(span)
      }
      const found = (side: 'input' | 'output', text: string | null) =>
        text === null || text.length < LEAST_SHARED ? null : (given.find(span => span[side] === text)?.id ?? null)
      t.strictSame(finder.found, { inputSpanId: found('input', input), outputSpanId: found('output', output) })
    }),
    { numRuns: 300 }
  )
})
