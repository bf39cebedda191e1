import t from 'tap'
import { SHOWN_BYTES as MAX_BYTES, USUAL_BYTES } from '../../../lib/mcp/outline.ts'
import { traceView } from '../../../lib/mcp/trace-view.ts'
import { answer } from './trace-answer.ts'

t.test('auto shows a whole trace up to the limit, and its outline beyond', async t => {
  const filled = (bytes: number) => {
    const rest = bytes - Buffer.byteLength(answer({ trace: { input: '' } }))
    return answer({ trace: { input: 'x'.repeat(rest) } })
  }
  for (const options of [{}, { detail: 'auto' }]) {
    t.equal(traceView.show(filled(USUAL_BYTES - 1), options), filled(USUAL_BYTES - 1))
    t.match(JSON.parse(traceView.show(filled(USUAL_BYTES), options)), { detail: 'outline' })
  }
  t.equal(traceView.show(filled(MAX_BYTES), { detail: 'full' }), filled(MAX_BYTES))
  t.match(JSON.parse(traceView.show(answer({}), { detail: 'outline' })), { detail: 'outline' })
})

t.test('an outline has at most 8,000 bytes by default, and says how to get more', async t => {
  for (const spans of [3, 20, 42, 200, 1000]) {
    const text = answer({ spans, span: () => ({ input: 'x'.repeat(3000), output: '名'.repeat(500) }) })
    const seen: string[] = []
    for (let after: string | undefined, parts = 0; parts === 0 || after !== undefined; parts++) {
      const shown = traceView.show(text, { ...(after !== undefined && { after }) })
      t.ok(Buffer.byteLength(shown) <= USUAL_BYTES, `${spans} spans: ${Buffer.byteLength(shown)} bytes`)
      const outline = JSON.parse(shown)
      t.match(outline.note, /`detail` "outline"; for only the failed spans, call list_spans/)
      seen.push(...outline.spans.map(({ id }: { id: string }) => id))
      after = outline.nextAfter
    }
    t.equal(new Set(seen).size, spans, 'its parts have all spans')
  }
})

t.test('numbers that a double cannot hold are preserved', async t => {
  const exact = answer({ span: () => ({ input: 'NUMBER' }) }).replace('"NUMBER"', '{"n":12345678901234567890}')
  t.match(traceView.show(exact, { detail: 'outline' }), '"input":{"n":12345678901234567890}')
  const spanIds = ['0000000000000000']
  t.match(traceView.show(exact, { spanIds }), '"input":{"n":12345678901234567890}')
})

t.test("the trace's own values can be read in parts, which together are their JSON text", async t => {
  const input = { text: 'é"\\😀'.repeat(10_000), big: 'NUMBER' }
  const text = answer({ trace: { input } }).replace('"NUMBER"', '12345678901234567890')
  let json = ''
  let offset: number | null = 0
  for (let parts = 0; offset !== null && parts < 100; parts++) {
    const shown = traceView.show(text, { field: 'input', ...(offset > 0 && { offset }) })
    t.ok(Buffer.byteLength(shown) < MAX_BYTES, `${Buffer.byteLength(shown)} bytes`)
    const part = JSON.parse(shown)
    t.match(part, { traceId: JSON.parse(text).trace.id, field: 'input', offset })
    json += part.part
    offset = part.nextOffset
    if (offset === null) t.equal(part.length, json.length)
  }
  t.equal(json, JSON.stringify(input).replace('"NUMBER"', '12345678901234567890'))
  t.match(JSON.parse(traceView.show(text, { field: 'metadata' })), { part: '{"release":"2.14.0"}', nextOffset: null })
  t.match(JSON.parse(traceView.show(text, { field: 'output', detail: 'full', offset: 3 })), { offset: 3 })
  t.throws(() => traceView.show(text, { field: 'metadata', offset: 21 }), { message: 'offset: must be at most 20' })
})

t.test("selected spans are returned whole, in the trace's order, with any detail", async t => {
  const whole = JSON.parse(answer({ spans: 4 }))
  const id = (index: number) => whole.spans[index].id
  for (const detail of ['auto', 'outline', 'full']) {
    const spanIds = [id(3), id(1), id(3).toUpperCase(), 'ABCDEFabcdef0123']
    const shown = JSON.parse(traceView.show(answer({ spans: 4 }), { detail, spanIds }))
    t.same(shown, { traceId: whole.trace.id, spans: [whole.spans[1], whole.spans[3]], missing: ['abcdefabcdef0123'] })
  }
})
