import fc from 'fast-check'
import t from 'tap'
import { fitSpan } from '../../../../lib/otlp/content/fit-span.ts'
import { freeOf } from '../../../../lib/otlp/wire/attribute-values.ts'
import { MAX_DOCUMENT_BYTES, type SpanInput } from '../../../../lib/schema/input.ts'
import { TRUNCATED } from '../../../../lib/schema/otlp.ts'
import { sha256 } from '../../../../lib/trace/document.ts'
import type { Reading } from '../../../../lib/trace/json/reader.ts'
import { normaliseSpans } from '../../../../lib/trace/normalise.ts'
import { mapOne } from '../mapped.ts'

type Span = Reading<SpanInput>
interface Given {
  readonly input?: unknown
  readonly output?: unknown
  readonly attributes?: Record<string, unknown>
  readonly events?: readonly Record<string, unknown>[]
}

const TIME = '2026-11-21T12:00:00.000Z'

function spanOf({ input, output, attributes = {}, events = [] }: Given): Span {
  const fields = { id: 'a'.repeat(16), name: 'step', kind: 'llm', startedAt: TIME, endedAt: TIME }
  const usage = { inputTokens: 7, outputTokens: 5 }
  return {
    ...fields,
    usage,
    costUsd: 0.5,
    input: freeOf(input),
    output: freeOf(output),
    attributes: freeOf(attributes),
    events: events.map(event => ({ name: 'moment', timestamp: TIME, attributes: freeOf(event) }))
  } as Span
}

const bytesOf = (span: Span): number => {
  const value = { schemaVersion: 1 as const, spans: [span] }
  return normaliseSpans({ value, escapes: false }).spans[0]!.bytes
}
const parsed = (free: { stored: string | null } | undefined) => JSON.parse(free?.stored ?? 'null')
const cutsOf = (span: Span): { place: string; bytes: number; sha256: string }[] =>
  parsed(span.attributes)?.[TRUNCATED] ?? []
const jsonBytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

t.test('a span that fits is unchanged', async t => {
  const span = spanOf({ input: 'x'.repeat(MAX_DOCUMENT_BYTES - 100_000) })
  t.equal(fitSpan(span), span)
})

t.test('the longest texts are cut to one length, and the others are unchanged', async t => {
  const [question, answer] = ['what? '.repeat(100_000), 'so. '.repeat(120_000)]
  const span = spanOf({ input: [{ role: 'user', content: question }], output: answer, attributes: { a: 'kept', n: 1 } })
  const fitted = fitSpan(span)
  t.ok(bytesOf(fitted) <= MAX_DOCUMENT_BYTES)
  t.ok(bytesOf(fitted) > MAX_DOCUMENT_BYTES - 70_000, 'and no more is cut than necessary')
  const [message] = parsed(fitted.input)
  t.match(message, { role: 'user', content: /^what\? what\?.*… \[cut: 600002 bytes in all\]$/ })
  t.match(parsed(fitted.output), /^so\. so\..*… \[cut: 480002 bytes in all\]$/)
  t.ok(Math.abs(jsonBytes(message.content) - jsonBytes(parsed(fitted.output))) < 10)
  t.match(parsed(fitted.attributes), { a: 'kept', n: 1 })
  t.same(cutsOf(fitted), [
    { place: 'input[0].content', bytes: 600_002, sha256: sha256(question) },
    { place: 'output', bytes: 480_002, sha256: sha256(answer) }
  ])
  t.match(fitted, { usage: { inputTokens: 7, outputTokens: 5 }, costUsd: 0.5 })
})

t.test('files are cut before texts', async t => {
  const file = Buffer.alloc(600_000, 'a picture').toString('base64')
  const url = `data:image/png;base64,${file}`
  const question = 'what is this? '.repeat(20_000)
  const content = [{ text: question }, { image_url: { url } }, { data: file }]
  const fitted = fitSpan(spanOf({ input: { content } }))
  const [text, image, data] = parsed(fitted.input).content
  t.equal(text.text, question)
  t.match(image.image_url.url, /^data:image\/png;base64,[A-Za-z0-9+/]{10,100}… \[cut: 800024 bytes in all\]$/)
  t.match(data.data, /^[A-Za-z0-9+/]{10,100}… \[cut: 800002 bytes in all\]$/)
  t.equal(cutsOf(fitted).length, 2)
})

t.test('a text of the maximum length of an export', async t => {
  for (const text of ['x', 'x y']) {
    const fitted = fitSpan(spanOf({ attributes: { text: text.repeat(8_000_000 / text.length) } }))
    t.ok(bytesOf(fitted) <= MAX_DOCUMENT_BYTES, text)
  }
})

t.test('many small values: whole values are cut as JSON, and attributes are omitted last', async t => {
  const numbers = Array.from({ length: 300_000 }, (_, i) => i)
  const fitted = fitSpan(spanOf({ input: numbers, output: 'short' }))
  t.match(parsed(fitted.input), /^\[0,1,2,3,.*… \[cut: \d+ bytes in all\]$/)
  t.equal(parsed(fitted.output), 'short')
  t.same(cutsOf(fitted), [{ place: 'input', bytes: jsonBytes(numbers), sha256: sha256(JSON.stringify(numbers)) }])

  const attributes = Object.fromEntries(numbers.slice(0, 100_000).map(n => [`attribute ${n}`, n]))
  const left = fitSpan(spanOf({ input: 'kept', attributes }))
  t.ok(bytesOf(left) <= MAX_DOCUMENT_BYTES)
  t.match(parsed(left.attributes), { 'attribute 0': 0, 'attribute 1000': 1000 })
  t.equal(parsed(left.input), 'kept')
  t.match(cutsOf(left)[0]?.place, /^\d+ attributes, left out$/)
})

t.test('every result fits, names every cut, and is deterministic', async t => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc
      .tuple(fc.constantFrom('a', 'é', '😀', '\u0001', '\ud800', '"', 'word '), fc.nat(60_000))
      .map(([c, n]) => c.repeat(n)),
    fc.nat(90_000).map(n => Buffer.alloc(n, 'file').toString('base64'))
  )
  const { value } = fc.letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(null, true),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.string({ maxLength: 10 }), tie('value'), { maxKeys: 5 })
    )
  }))
  const attributes = fc.dictionary(fc.oneof(fc.string(), fc.constant(TRUNCATED)), value, { maxKeys: 8 })
  const given = fc.record({ input: value, output: value, attributes, events: fc.array(attributes, { maxLength: 4 }) })
  let cut = 0
  await fc.assert(
    fc.asyncProperty(given, fc.integer({ min: 90_000, max: 200_000 }), async (given, limit) => {
      const span = spanOf(given)
      const fitted = fitSpan(span, limit)
      if (fitted === span) return
      cut++
      if (bytesOf(fitted) > limit) throw new Error(`${bytesOf(fitted)} bytes`)
      if (cutsOf(fitted).length === 0) throw new Error('nothing says what was cut')
      if (JSON.stringify(fitSpan(spanOf(given), limit)) !== JSON.stringify(fitted)) throw new Error('another cut')
      const sizes = cutsOf(fitted).map(({ bytes }) => bytes)
      if (sizes.some((bytes, i) => bytes > sizes[i - 1]!)) throw new Error('not in order of size')
    }),
    { numRuns: 25 }
  )
  t.ok(cut > 2, `${cut} spans were cut`)
})

t.test('a span of an export is cut, not rejected', async t => {
  const prompt = 'a question '.repeat(100_000)
  const span = mapOne({ attributes: { 'input.value': prompt, 'llm.token_count.prompt': 250_000 } })
  t.match(span, { input: /^a question .*in all\]$/, usage: { inputTokens: 250_000 } })
  t.match(span.attributes[TRUNCATED], [{ place: 'input', bytes: prompt.length + 2, sha256: sha256(prompt) }])
})
