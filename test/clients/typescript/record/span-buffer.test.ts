import fc from 'fast-check'
import t from 'tap'
import { MAX_SPANS } from '../../../../clients/typescript/api-types.ts'
import type { SpanRecord } from '../../../../clients/typescript/record/render.ts'
import { SpanBuffer } from '../../../../clients/typescript/record/span-buffer.ts'

const span = (id: string, status: 'ok' | 'error' = 'ok', parentSpanId?: string) =>
  ({ id, status, parentSpanId, kind: id === 'late' ? 'llm' : 'tool', bytes: 10 }) as SpanRecord

t.test('at most 200 spans are recorded, and the others are counted', t => {
  const failing = fc.array(fc.boolean(), { minLength: 190, maxLength: 230 })
  fc.assert(
    fc.property(failing, fc.integer({ min: 0, max: 220 }), (fails, sendAt) => {
      const buffer = new SpanBuffer()
      const sent: SpanRecord[] = []
      for (const [i, isFailing] of fails.entries()) {
        buffer.enter(`${i}`)
        buffer.add(span(`${i}`, isFailing ? 'error' : 'ok'))
        if (i === sendAt) sent.push(...buffer.take())
      }
      sent.push(...buffer.take())
      t.ok(sent.length <= MAX_SPANS)
      t.equal(sent.length + (buffer.leftOut?.count ?? 0), fails.length)
      t.equal(new Set(sent.map(({ id }) => id)).size, sent.length)
      t.equal(buffer.bytes, 0)
    }),
    { numRuns: 20 }
  )
  t.end()
})

t.test('a late failure replaces a span that did not fail and has no children', t => {
  const buffer = new SpanBuffer()
  for (let i = 0; i < MAX_SPANS; i++) buffer.enter(`${i}`)
  t.notOk(buffer.enter('late'))
  buffer.add(span('0', 'error'))
  buffer.add(span('1'))
  buffer.add(span('2', 'ok', '1'))
  buffer.add(span('other'))
  buffer.add(span('late', 'error', '1'))
  t.same(
    buffer.take().map(({ id }) => id),
    ['0', '1', 'late'],
    'its parent is kept'
  )
  t.same(buffer.leftOut, { count: 2, kinds: { tool: 2 } }, 'the parent of the span that was replaced')
  t.end()
})
