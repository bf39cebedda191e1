import fc from 'fast-check'
import t from 'tap'
import { fileText, newDelivery, readFileText } from '../../../../lib/client/send/delivery.ts'
import { shrink } from '../../../../lib/client/send/shrink.ts'

const kinds = fc.constantFrom('record', 'start', 'spans', 'end', 'otlp', 'score')
const parts = fc.array(fc.record({ kind: kinds, body: fc.jsonValue().map(value => JSON.stringify(value)) }))

t.test('a file gives back the very parts that were written, and a piece of one gives nothing', t => {
  fc.assert(
    fc.property(parts, fc.string(), fc.double({ min: 0, max: 0.999, noNaN: true }), (list, name, share) => {
      const delivery = newDelivery('a'.repeat(32), name, list)
      const text = fileText(delivery, list)
      t.same(readFileText(text), { traceId: delivery.traceId, name, parts: list })
      t.equal(readFileText(text.slice(0, Math.floor((text.length - 1) * share))), undefined)
    }),
    { numRuns: 100 }
  )
  for (const odd of ['', 'x', 'spoor 1 {}\nodd {}\nend of file\n', 'spoor 1 {\nend of file\n']) {
    t.equal(readFileText(odd), undefined)
  }
  t.end()
})

t.test('a body that was too large has its values cut, and nothing else', t => {
  const span = { id: 'b'.repeat(16), name: 's', input: 'x'.repeat(500_000), attributes: { a: 1 } }
  const trace = { id: 'a', name: 't', tags: ['x'], output: 'y'.repeat(900_000), spans: Array(3).fill(span) }
  const text = shrink(JSON.stringify({ schemaVersion: 1, trace }))
  t.ok(text.length < 500_000)
  const { trace: cut } = JSON.parse(text)
  t.match(cut, { id: 'a', name: 't', tags: ['x'], output: /^y+…\[cut/, metadata: { spoor: { cut: 1 } } })
  t.match(cut.spans[2], { id: span.id, input: /^x+…\[cut/, attributes: { a: 1, 'spoor.cut': 1 } })
  t.end()
})
