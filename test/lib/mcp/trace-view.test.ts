import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { TraceOutline } from '../../../lib/mcp/outline.ts'
import { traceView } from '../../../lib/mcp/trace-view.ts'
import { EXAMPLES } from '../../../lib/openapi/examples.ts'

const MAX_BYTES = 60_000
const DETAIL = EXAMPLES.getTrace?.replies[200] as { trace: object; spans: object[]; scores: object[] }
const isOutline = new Ajv2020({ strict: false, validateFormats: false }).compile(TraceOutline)

type Values = { trace?: object; span?: (index: number) => object; spans?: number; scores?: number }

/** The answer of getTrace for a trace with so many spans. */
function answer({ trace, span, spans = 1, scores = 1 }: Values): string {
  const id = (index: number) => index.toString(16).padStart(16, '0')
  return JSON.stringify({
    trace: { ...DETAIL.trace, ...trace },
    spans: Array.from({ length: spans }, (_, i) => ({ ...DETAIL.spans[1], id: id(i), ...span?.(i) })),
    scores: Array.from({ length: scores }, () => DETAIL.scores[0])
  })
}

function outlineOf(t: Test, values: Values, detail = 'outline') {
  const text = traceView.show(answer(values), { detail })
  const outline = JSON.parse(text)
  t.ok(isOutline(outline), 'is as the schema has it')
  return { text, outline }
}

t.test('auto shows a trace whole up to the limit, and its outline beyond', async t => {
  const filled = (bytes: number) => {
    const rest = bytes - Buffer.byteLength(answer({ trace: { input: '' } }))
    return answer({ trace: { input: 'x'.repeat(rest) } })
  }
  for (const options of [{}, { detail: 'auto' }]) {
    t.equal(traceView.show(filled(MAX_BYTES - 1), options), filled(MAX_BYTES - 1))
    t.match(JSON.parse(traceView.show(filled(MAX_BYTES), options)), { detail: 'outline' })
  }
  t.equal(traceView.show(filled(MAX_BYTES), { detail: 'full' }), filled(MAX_BYTES))
  t.match(JSON.parse(traceView.show(answer({}), { detail: 'outline' })), { detail: 'outline' })
})

t.test('an outline keeps what is short as it is, and leaves out what is empty', async t => {
  const empty = { input: null, output: null, attributes: {}, events: [], model: null, usage: null, costUsd: null }
  const { outline } = outlineOf(t, { spans: 2, span: i => (i === 0 ? {} : { name: 'bare', ...empty }) })
  const { scores, ...trace } = JSON.parse(answer({ spans: 2 })).trace
  t.same(outline.trace, { ...trace, scores })
  const { depth, bytes, ...fields } = outline.spans[0]
  t.same([depth, bytes], [0, Buffer.byteLength(JSON.stringify(JSON.parse(answer({})).spans[0]))])
  t.match(DETAIL.spans[1], { ...fields, id: String }, 'the fields of a span that has them all')
  t.same(Object.keys(outline.spans[1]), ['depth', 'id', 'name', 'kind', 'status', 'startedAt', 'durationMs', 'bytes'])
  t.equal(outline.scoreCount, 1)
})

t.test('what is cut shows its beginning, and says how much is missing', async t => {
  const long = 'é'.repeat(1000)
  const values = { input: long, output: { text: long }, attributes: { long }, events: [] }
  const { outline } = outlineOf(t, { trace: { input: 'y'.repeat(10_000), metadata: { long } }, span: () => values })
  const { input, output, attributes } = outline.spans[0]
  t.equal(input, `"${'é'.repeat(199)}… [1603 of 2002 bytes left out]`)
  t.match(output, /^\{"text":"é+… \[\d+ of 2011 bytes left out\]$/)
  t.match(attributes, /^\{"long":"é+… \[/)
  t.match(outline.trace.input, /^"y{3999}… \[6002 of 10002 bytes left out\]$/)
  t.same(outline.trace.metadata, { long }, 'a trace has more room for its own')
})

t.test('an outline of many spans says less of each, but is short enough', async t => {
  const large = { input: 'a'.repeat(2000), output: 'b'.repeat(2000), attributes: { c: 'c'.repeat(2000) } }
  const cases: [number, RegExp, boolean][] = [
    [20, /about 400 bytes/, true],
    [70, /about 120 bytes/, true],
    [200, /of all spans are left out/, false]
  ]
  for (const [spans, note, shows] of cases) {
    const { text, outline } = outlineOf(t, { spans, scores: 100, span: () => large }, 'auto')
    t.ok(Buffer.byteLength(text) < MAX_BYTES, `${spans} spans are ${Buffer.byteLength(text)} bytes`)
    t.match(outline.note, note)
    t.equal(outline.spans.length, spans)
    t.equal('input' in outline.spans[0], shows)
    t.equal(outline.scoreCount, 100)
  }
})

t.test('long names are cut where there are many', async t => {
  const { text, outline } = outlineOf(t, {
    spans: 200,
    span: () => ({ name: 'n'.repeat(500), model: 'm'.repeat(200) })
  })
  t.match(outline.spans[199].name, /^n{40}… \[460 of 500 bytes left out\]$/)
  t.match(outline.note, /names of more than about 40 bytes/)
  t.ok(Buffer.byteLength(text) < 1.5 * MAX_BYTES)
})

t.test('numbers that a double cannot hold stay as they are', async t => {
  const exact = answer({ span: () => ({ input: 'NUMBER' }) }).replace('"NUMBER"', '{"n":12345678901234567890}')
  t.match(traceView.show(exact, { detail: 'outline' }), '"input":{"n":12345678901234567890}')
  const spanIds = ['0000000000000000']
  t.match(traceView.show(exact, { spanIds }), '"input":{"n":12345678901234567890}')
})

t.test('chosen spans come whole, in the order of the trace, whatever the detail', async t => {
  const whole = JSON.parse(answer({ spans: 4 }))
  const id = (index: number) => whole.spans[index].id
  for (const detail of ['auto', 'outline', 'full']) {
    const spanIds = [id(3), id(1), id(3).toUpperCase(), 'ABCDEFabcdef0123']
    const shown = JSON.parse(traceView.show(answer({ spans: 4 }), { detail, spanIds }))
    t.same(shown, { traceId: whole.trace.id, spans: [whole.spans[1], whole.spans[3]], missing: ['abcdefabcdef0123'] })
  }
})
