import t from 'tap'
import type { TracePart } from '../../../../clients/typescript/record/trace.ts'
import { smaller } from '../../../../clients/typescript/send/smaller.ts'

const made = (kind: TracePart['kind'], body: object): TracePart => ({ kind, body: JSON.stringify(body) })
/** Reduces a part until each resulting part has at most `bytes` bytes. */
function fitting(part: TracePart, bytes: number, cuts = 0): TracePart[] {
  if (part.body.length <= bytes) return [part]
  const parts = smaller(part, cuts)!
  return parts.flatMap(each => fitting(each, bytes, parts.length === 1 ? cuts + 1 : 0))
}
const read = (parts: readonly TracePart[]) => parts.map(({ kind, body }) => ({ kind, body: JSON.parse(body) }))

t.test('a trace is sent in parts, and loses nothing if each part is small enough', t => {
  const spans = Array.from({ length: 5 }, (_, i) => ({ id: `${i}`, kind: 'tool', input: 'x'.repeat(1000) }))
  const trace = { id: 'a', name: 't', startedAt: '1', input: 'in', tags: ['x'], endedAt: '2', status: 'ok', output: 7 }
  const parts = read(fitting(made('record', { schemaVersion: 1, trace: { ...trace, spans } }), 2500))
  t.same(
    parts.map(({ kind }) => kind),
    ['start', 'spans', 'spans', 'spans', 'end']
  )
  const { endedAt, status, output, ...head } = trace
  t.same(parts[0]!.body, { schemaVersion: 1, trace: head })
  t.same(
    parts.slice(1, 4).flatMap(({ body }) => body.spans),
    spans
  )
  t.same(parts[4]!.body, { schemaVersion: 1, endedAt, status, output })
  const end = read(fitting(made('end', { schemaVersion: 1, endedAt, spans }), 2500))
  t.same(
    end.map(({ kind }) => kind),
    ['spans', 'spans', 'spans', 'end']
  )
  t.end()
})

t.test('an export is halved down to single spans', t => {
  const spans = Array.from({ length: 5 }, (_, i) => ({ spanId: `${i}`, attributes: [], events: [] }))
  const body = { resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: 'spoor' }, spans }] }] }
  const parts = read(fitting(made('otlp', body), 200))
  t.ok(parts.length > 1)
  t.same(
    parts.flatMap(each => each.body.resourceSpans[0].scopeSpans[0].spans),
    spans
  )
  t.match(parts[0]!.body, { resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: 'spoor' } }] }] })
  t.end()
})

t.test('values are cut as a last resort, further each time, and the rest is kept', t => {
  const text = 'x'.repeat(900_000)
  const span = { id: 'b', kind: 'llm', name: 's', input: text, attributes: { a: 1 }, events: [{ name: 'e' }] }
  for (const bytes of [500_000, 100_000, 10_000]) {
    const [part] = read(fitting(made('spans', { schemaVersion: 1, spans: [span] }), bytes))
    t.match(part!.body.spans[0], {
      ...{ id: 'b', name: 's', input: /^x+…\[cut/, attributes: { a: 1, 'spoor.cut': 1 }, events: [{ name: 'e' }] }
    })
    t.ok(part!.body.spans[0].input.length > bytes / 20)
  }
  const trace = { id: 'a', name: 't', tags: ['x'], output: text, metadata: { m: 1, spoor: { notEnded: true } } }
  const [whole] = read(fitting(made('record', { schemaVersion: 1, trace }), 500_000))
  t.match(whole!.body.trace, {
    ...{ id: 'a', tags: ['x'], output: /^x+…\[cut/, metadata: { m: 1, spoor: { notEnded: true, cut: 1 } } }
  })
  t.end()
})

t.test('an exported span is cut in the same way, and JSON stays JSON', t => {
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } })
  const attributes = [
    text('input.value', JSON.stringify({ question: 'é'.repeat(300_000), n: 1 })),
    text('note', 'y'.repeat(300_000)),
    { key: 'n', value: { intValue: '1' } }
  ]
  const span = { attributes, events: [{ name: 'e', attributes: [text('stack', 'z'.repeat(300_000))] }] }
  const body = { resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans: [span] }] }] }
  const [part, none] = fitting(made('otlp', body), 300_000)
  t.equal(none, undefined)
  const [cut] = JSON.parse(part!.body).resourceSpans[0].scopeSpans[0].spans
  t.match(cut.attributes, [
    { key: 'input.value' },
    { value: { stringValue: /^y+…\[cut/ } },
    { key: 'n', value: { intValue: '1' } },
    { key: 'spoor.cut', value: { intValue: '3' } }
  ])
  t.match(JSON.parse(cut.attributes[0].value.stringValue), { question: /^é+…\[cut/, n: 1 })
  t.match(cut.events[0].attributes[0].value.stringValue, /^z+…\[cut/)
  t.end()
})

t.test('a body that cannot become smaller is given up', t => {
  t.equal(smaller(made('score', { name: 's' }), 0), undefined)
  let part = made('start', { schemaVersion: 1, trace: { id: 'a' } })
  let cuts = 0
  for (let next = smaller(part, cuts); next !== undefined; next = smaller(part, ++cuts)) [part] = next as [TracePart]
  t.ok(cuts < 20)
  t.end()
})
