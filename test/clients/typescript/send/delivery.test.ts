import fc from 'fast-check'
import t from 'tap'
import { fileText, newDelivery, readFileText } from '../../../../clients/typescript/send/delivery.ts'

const kinds = fc.constantFrom('record', 'start', 'spans', 'end', 'joined', 'otlp', 'score')
const parts = fc.array(fc.record({ kind: kinds, body: fc.jsonValue().map(value => JSON.stringify(value)) }))

t.test('a file returns exactly the written parts, and a fragment of a file returns none', t => {
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
