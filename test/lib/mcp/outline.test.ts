import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { outlineOf, outlineTrace, planSpan, SHOWN_BYTES, TraceOutline } from '../../../lib/mcp/outline.ts'
import { parseInexact } from '../../../lib/trace/json/exact-json.ts'
import { inTreeOrder } from '../../../lib/trace/tree-order.ts'
import { answer, DETAIL, type Values } from './trace-answer.ts'

const isOutline = new Ajv2020({ strict: false, validateFormats: false }).compile(TraceOutline)

function outlineTest(t: Test, values: Values) {
  const detail = answer(values)
  const text = outlineTrace(JSON.parse(detail), {
    inexact: false,
    bytes: Buffer.byteLength(detail)
  })
  const outline = JSON.parse(text)
  t.ok(isOutline(outline), 'matches the schema')
  t.match(outline.note, `an outline of a trace of ${Buffer.byteLength(detail)} bytes`)
  return { text, outline }
}

t.test('an outline keeps short values unchanged, and omits empty ones', async t => {
  const empty = { input: null, output: null, attributes: {}, events: [], model: null, usage: null, costUsd: null }
  const { outline } = outlineTest(t, { spans: 2, span: i => (i === 0 ? {} : { name: 'bare', ...empty }) })
  const { scores, ...trace } = JSON.parse(answer({ spans: 2 })).trace
  t.same(outline.trace, { ...trace, scores })
  const { depth, bytes, ...fields } = outline.spans[0]
  t.same([depth, bytes], [0, Buffer.byteLength(JSON.stringify(JSON.parse(answer({})).spans[0]))])
  t.match(DETAIL.spans[1], { ...fields, id: String }, 'the fields of a span that has all of them')
  t.same(Object.keys(outline.spans[1]), ['depth', 'id', 'name', 'kind', 'status', 'startedAt', 'durationMs', 'bytes'])
  t.equal(outline.scoreCount, 1)
})

t.test('a truncated text shows its beginning, and states how much is missing', async t => {
  const long = 'é'.repeat(1000)
  const values = { input: long, output: { text: long }, attributes: { long }, events: [] }
  const { outline } = outlineTest(t, { trace: { input: 'y'.repeat(10_000), metadata: { long } }, span: () => values })
  const { input, output, attributes } = outline.spans[0]
  t.equal(input, `"${'é'.repeat(199)}… [1603 of 2002 bytes left out]`)
  t.match(output, /^\{"text":"é+… \[\d+ of 2011 bytes left out\]$/)
  t.match(attributes, /^\{"long":"é+… \[/)
  t.match(outline.trace.input, /^"y{3999}… \[6002 of 10002 bytes left out\]$/)
  t.same(outline.trace.metadata, { long }, 'a trace has more space for its own fields')
})

t.test('an outline states how many spans are not stored, whatever part of the metadata is cut', async t => {
  const spoor = { spansLeftOut: { count: 126, kinds: { custom: 123, llm: 3 } } }
  const { outline } = outlineTest(t, { trace: { metadata: { long: 'x'.repeat(10_000), spoor } } })
  t.match(outline.note, /The run had 126 more spans that were not stored: 123 custom, 3 llm\.$/)
  for (const [said, note] of [
    [{ spansLeftOut: { count: 2, kinds: 'x' } }, / 2 more spans that were not stored\.$/],
    [{ spansLeftOut: { count: 2, kinds: { llm: 'many' } } }, / not stored\.$/]
  ] as const)
    t.match(outlineTest(t, { trace: { metadata: { spoor: said } } }).outline.note, note)
  for (const said of [undefined, null, 1, 'x', [], { spansLeftOut: null }, { spansLeftOut: { count: '2' } }])
    t.notMatch(outlineTest(t, { trace: { metadata: { spoor: said } } }).outline.note, /not stored/)
})

t.test('an outline of many spans says less about each, but stays short enough', async t => {
  const large = { input: 'a'.repeat(2000), output: 'b'.repeat(2000), attributes: { c: 'c'.repeat(2000) } }
  const cases: [number, RegExp, boolean][] = [
    [10, /about 400 bytes/, true],
    [40, /about 120 bytes/, true],
    [100, /names and models of spans, after about 40 bytes/, false],
    [200, /events of all spans; startedAt, model, usage and costUsd of all spans/, false]
  ]
  for (const [spans, note, shows] of cases) {
    const { text, outline } = outlineTest(t, { spans, scores: 100, span: () => large })
    t.ok(Buffer.byteLength(text) < SHOWN_BYTES, `${spans} spans are ${Buffer.byteLength(text)} bytes`)
    t.match(outline.note, note)
    t.equal(outline.spans.length, spans)
    t.equal('input' in outline.spans[0], shows)
    for (const name of ['startedAt', 'model', 'usage']) t.equal(name in outline.spans[0], spans < 200, name)
    t.equal(outline.scoreCount, 100)
  }
})

t.test('long names are truncated if there are many', async t => {
  const { text, outline } = outlineTest(t, {
    spans: 200,
    span: () => ({ name: 'n'.repeat(500), model: 'm'.repeat(200) })
  })
  t.match(outline.spans[199].name, /^n{20}… \[480 of 500 bytes left out\]$/)
  t.match(outline.note, /names of spans, after about 20 bytes/)
  t.ok(text.length < 40_000, `${text.length} characters, which no client truncates`)
})

t.test('spans are a tree, each with its depth, in any order of input', async t => {
  const id = (index: number) => index.toString(16).padStart(16, '0')
  const parents = [2, undefined, 1, 1]
  const span = (i: number) => ({ parentSpanId: parents[i] === undefined ? null : id(parents[i]) })
  const { outline } = outlineTest(t, { spans: 4, span })
  const places = outline.spans.map(({ id, depth }: { id: string; depth: number }) => [Number.parseInt(id, 16), depth])
  t.strictSame(places, [
    [1, 0],
    [2, 1],
    [0, 2],
    [3, 1]
  ])
})

t.test('a truncated text ends with a whole character, and numbers that a double cannot hold are preserved', async t => {
  const { outline } = outlineTest(t, { span: () => ({ input: `x${'😀'.repeat(300)}` }) })
  t.match(outline.spans[0].input, /^"x(😀){99}… \[805 of 1203 bytes left out\]$/)
  const nearly = 'x'.repeat(440)
  t.equal(
    outlineTest(t, { span: () => ({ input: nearly }) }).outline.spans[0].input,
    nearly,
    'a marker would be as long'
  )
  const exact = answer({ span: () => ({ input: 'NUMBER' }) }).replace('"NUMBER"', '{"n":12345678901234567890}')
  const options = { inexact: true, bytes: 1 }
  t.match(outlineTrace(parseInexact(exact) as never, options), '"input":{"n":12345678901234567890}')
})

t.test('the first 400 characters of the note say how to get the rest', async t => {
  for (const isText of [true, false]) {
    for (const spans of [1, 200]) {
      const detail = JSON.parse(answer({ spans, span: () => ({ input: 'a'.repeat(2000) }) }))
      const { note } = JSON.parse(outlineTrace(detail, { inexact: false, bytes: 3_900_000, isText }))
      const start = note.slice(0, 400)
      t.match(
        start,
        /^This is an outline of a trace of 3900000 bytes\. To read full spans, call get_trace with spanIds/
      )
      for (const way of ['with `field`', 'get_trace_scores']) t.match(start, way)
      t.equal(start.includes('`detail` "full"'), !isText, 'it was requested in full')
      t.equal(note.endsWith('Clients that read structuredContent have the full trace.'), isText)
    }
  }
})

t.test("an outline's note names everything that it shortens", async t => {
  const whole = JSON.parse(answer({}))
  for (const spans of [1, 200]) {
    const { outline } = outlineTest(t, { spans, span: () => ({ input: 'a'.repeat(2000), name: 'n'.repeat(600) }) })
    const same = JSON.parse(answer({ spans })).trace
    for (const name of Object.keys(same)) t.ok(name in outline.trace, name)
    for (const name of ['input', 'output', 'metadata'])
      t.match(outline.note, new RegExp(`the trace's input.*${name}|the trace's ${name}`), name)
    const shown = Object.keys(outline.spans[0])
    for (const name of Object.keys(whole.spans[0])) {
      if (!shown.includes(name)) t.match(outline.note, new RegExp(`\\b${name}\\b|null and empty`), name)
    }
    for (const name of ['traceId', 'parentSpanId', 'endedAt', 'provider']) t.match(outline.note, name)
    t.match(outline.note, /null and empty span fields/)
    t.match(outline.note, /the scores \(only their number is shown\)/)
    t.match(outline.note, /names( and models)? of spans, after about \d+ bytes/)
  }
})

t.test('an outline of a long trace comes in parts, which have each span once, in tree order', async t => {
  const id = (index: number) => index.toString(16).padStart(16, '0')
  const span = (i: number) => ({ parentSpanId: i === 0 ? null : id(i % 7 === 1 ? 0 : i - 1), name: `step ${i}` })
  const detail = JSON.parse(answer({ spans: 10_000, span }))
  const spans = detail.spans.map((each: never) => planSpan(each, false))
  const source = { trace: detail.trace, spans, scoreCount: 0 }
  const partOf = (after?: string) => outlineOf(source, { inexact: false, bytes: 1, after })
  const ids: string[] = []
  for (let after: string | undefined, text = partOf(); ; text = partOf(after)) {
    if (Buffer.byteLength(text) > SHOWN_BYTES) t.fail('a part is too long')
    const part = JSON.parse(text)
    ids.push(...part.spans.map((each: { id: string }) => each.id))
    after = part.nextAfter
    if (after === undefined) break
  }
  t.same(
    ids,
    inTreeOrder(spans as { id: string; parentSpanId: string | null }[]).map(({ span }) => span.id)
  )
  t.ok(isOutline(JSON.parse(partOf(id(9)))))
  t.throws(() => partOf('f'.repeat(16)), { code: 'invalid_request', message: /^after: is not the id of a span/ })
})

t.test('a single span or trace whose fields have the maximum length is shown in one part', async t => {
  const name = '😀'.repeat(500)
  const { outline, text } = outlineTest(t, { spans: 401, span: () => ({ name, model: 'm'.repeat(200) }) })
  t.ok(outline.spans.length > 50)
  t.ok(Buffer.byteLength(text) <= SHOWN_BYTES)
})
